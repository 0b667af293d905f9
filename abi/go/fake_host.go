package wasmjob

import (
	"io"
	"math"
	"time"
)

// fill answers a read as the host does: with the length of s, which is copied only if the
// buffer has room for all of it.
func fill(buf []byte, s string) int32 {
	if len(s) <= len(buf) {
		copy(buf, s)
	}
	return int32(len(s))
}

// answer is an error code as the result of a host function.
func answer(e HostError) int32 { return int32(e) }

// ctxStr reads a text field. A strategy is for no run, so it does not have those of a run.
func (f *Fake) ctxStr(field int32, buf []byte) int32 {
	if f.phase == sharding && (field == fieldTaskID || field == fieldShardingParam || field == fieldInstanceID || field == fieldRunID) {
		return answer(ErrNotFound)
	}
	switch field {
	case fieldJobName:
		return fill(buf, f.JobName)
	case fieldTaskID:
		return fill(buf, f.TaskID)
	case fieldJobParam:
		return fill(buf, f.JobParam)
	case fieldShardingParam:
		if f.Param == nil {
			return answer(ErrNotFound)
		}
		return fill(buf, *f.Param)
	case fieldInstanceID:
		return fill(buf, f.Instance)
	case fieldNamespace:
		return fill(buf, f.Namespace)
	case fieldModuleDigest:
		return fill(buf, f.ModuleDigest)
	case fieldSeed:
		return fill(buf, f.Seed)
	case fieldRunID:
		return fill(buf, f.RunID)
	case fieldReason:
		if f.Ended == nil || f.EndedReason == "" {
			return answer(ErrNotFound)
		}
		return fill(buf, f.EndedReason)
	}
	return answer(ErrUnknownField)
}

// ctxInt reads a number field.
func (f *Fake) ctxInt(field int32) int64 {
	switch field {
	case fieldShardingTotal:
		return int64(f.Total)
	case fieldShardingItem:
		return int64(f.Item)
	case fieldFireTime:
		return millis(f.Fired)
	case fieldDeadline:
		return millis(f.Deadline)
	case fieldAttempt:
		return int64(f.Attempt)
	case fieldFailover:
		return bit(f.Failover)
	case fieldMisfire:
		return bit(f.Misfire)
	case fieldHostMinor:
		return int64(f.HostMinor)
	case fieldStreaming:
		return bit(f.Streaming)
	case fieldFence:
		return f.Fence
	case fieldScheduledTime:
		return millis(f.Scheduled)
	case fieldFetchCount:
		return int64(f.FetchCount)
	case fieldOutcome:
		if f.Ended != nil {
			return int64(*f.Ended)
		}
	case fieldFireSucceeded, fieldFireFailed, fieldFireSkipped:
		if f.Fire != nil {
			return int64([...]int{f.Fire.Succeeded, f.Fire.Failed, f.Fire.Skipped}[field-fieldFireSucceeded])
		}
	}
	return noInt
}

// millis is a time as a number field has it; 0: there is none.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// bit is a truth as a number field has it.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// ctxJSON reads the whole context, which a strategy does not have.
func (f *Fake) ctxJSON(buf []byte) int32 {
	if f.phase == sharding {
		return answer(ErrNotFound)
	}
	return fill(buf, f.JSON)
}

func (f *Fake) configGet(key string, buf []byte) int32 { return lookUp(f.Config, key, buf) }

// lookUp answers a read with the value of a key.
func lookUp(values map[string]string, key string, buf []byte) int32 {
	v, ok := values[key]
	if !ok {
		return answer(ErrNotFound)
	}
	return fill(buf, v)
}

func (f *Fake) log(level int32, msg string) {
	if Level(level) >= f.Least {
		f.Logs = append(f.Logs, msg)
	}
}

func (f *Fake) logLevel() int32 { return int32(f.Least) }

// resultSet sets the result. A strategy has none.
func (f *Fake) resultSet(b []byte) int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case f.MaxResult > 0 && len(b) > f.MaxResult:
		return answer(ErrLimit)
	}
	f.Result = append([]byte{}, b...)
	return 0
}

func (f *Fake) errorSet(msg string) int32 {
	f.Err = msg
	return 0
}

// cancelled asks f.Stop why the run should stop. A strategy is not a run.
func (f *Fake) cancelled() int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case f.Stop == nil:
		return int32(Continue)
	}
	return int32(f.Stop())
}

// progress keeps how far the run is. In a strategy it does nothing.
func (f *Fake) progress(done, total int64) {
	if f.phase != sharding {
		f.Done, f.Goals = done, total
	}
}

// metricAdd adds to a metric, with the host's limits on names and on their number.
func (f *Fake) metricAdd(name string, value float64) int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case !metricName(name) || math.IsNaN(value) || math.IsInf(value, 0):
		return answer(ErrInvalid)
	}
	if _, known := f.Metrics[name]; !known && len(f.Metrics) == 64 {
		return answer(ErrLimit)
	}
	if f.Metrics == nil {
		f.Metrics = map[string]float64{}
	}
	f.Metrics[name] += value
	return 0
}

// metricName reports whether a metric may have that name.
func metricName(s string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// sleep does not wait: it only counts, and sets the clock ahead.
func (f *Fake) sleep(ms int32) int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case f.cancelled() != int32(Continue):
		return answer(ErrCancelled)
	}
	d := time.Duration(ms) * time.Millisecond
	f.Slept += d
	if !f.Clock.IsZero() {
		f.Clock = f.Clock.Add(d)
	}
	return 0
}

// now returns the time of f.Clock, in milliseconds. A strategy has no clock.
func (f *Fake) now() int64 {
	switch {
	case f.phase == sharding:
		return int64(ErrWrongPhase)
	case f.Clock.IsZero():
		return int64(ErrDenied)
	}
	return f.Clock.UnixMilli()
}

// random fills the buffer from f.Random. A strategy has no random bytes, since it must
// decide the same everywhere.
func (f *Fake) random(buf []byte) int32 {
	switch {
	case f.phase == sharding:
		return answer(ErrWrongPhase)
	case f.Random == nil:
		return answer(ErrDenied)
	case len(buf) > randomAtOnce:
		return answer(ErrLimit)
	}
	if _, err := io.ReadFull(f.Random, buf); err != nil {
		return answer(ErrIO)
	}
	return 0
}
