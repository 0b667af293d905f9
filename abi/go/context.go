package wasmjob

import (
	"encoding/json"
	"fmt"
	"time"
)

// Context is a job's view of its run. It is valid until the job returns.
type Context struct{ h host }

// text reads a text field; false if it has no value.
func (c Context) text(field int32) (string, bool) {
	b, n := read(func(buf []byte) int32 { return c.h.ctxStr(field, buf) })
	return string(b), n >= 0
}

// textOr reads a text field; empty if it has no value.
func (c Context) textOr(field int32) string {
	s, _ := c.text(field)
	return s
}

// number reads a number field; 0 if the host does not know it.
func (c Context) number(field int32) int64 {
	if n := c.h.ctxInt(field); n != noInt {
		return n
	}
	return 0
}

// moment reads a field in milliseconds since 1970; false if it is 0, which stands for
// none.
func (c Context) moment(field int32) (time.Time, bool) {
	ms := c.number(field)
	if ms == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(ms), true
}

// JobName returns the name of the job.
func (c Context) JobName() string { return c.textOr(fieldJobName) }

// TaskID returns ElasticJob's id of this fire on this server.
func (c Context) TaskID() string { return c.textOr(fieldTaskID) }

// RunID is the same in every attempt of this run: a key for effects that must happen only
// once.
func (c Context) RunID() string { return c.textOr(fieldRunID) }

// Item returns the sharding item that this run is for, from 0 to Total()-1.
func (c Context) Item() int { return int(c.number(fieldShardingItem)) }

// Total returns the number of items of the job.
func (c Context) Total() int { return int(c.number(fieldShardingTotal)) }

// Param returns the parameter of the item; false if it has none.
func (c Context) Param() (string, bool) { return c.text(fieldShardingParam) }

// JobParam returns the parameter of the job.
func (c Context) JobParam() string { return c.textOr(fieldJobParam) }

// Instance returns the id of the instance that runs the job.
func (c Context) Instance() string { return c.textOr(fieldInstanceID) }

// Namespace returns the job's namespace in the registry.
func (c Context) Namespace() string { return c.textOr(fieldNamespace) }

// ModuleDigest returns the sha256 of this module in hex.
func (c Context) ModuleDigest() string { return c.textOr(fieldModuleDigest) }

// Seed returns a text that is the same in every attempt of this run and differs between
// runs and items.
func (c Context) Seed() string { return c.textOr(fieldSeed) }

// Attempt counts the attempts of this run from 1.
func (c Context) Attempt() int { return int(c.number(fieldAttempt)) }

// Fence returns the fencing token of the run: a later owner of the item has a larger one,
// so a store that remembers the largest can refuse late writes.
func (c Context) Fence() int64 { return c.number(fieldFence) }

// Scheduled returns the instant that the run is for, which may be long past.
func (c Context) Scheduled() time.Time {
	t, _ := c.moment(fieldScheduledTime)
	return t
}

// Fired returns when this attempt began; without a granted clock, the same as Scheduled.
func (c Context) Fired() time.Time {
	t, _ := c.moment(fieldFireTime)
	return t
}

// Deadline returns when the run should be over; false if there is no deadline.
func (c Context) Deadline() (time.Time, bool) { return c.moment(fieldDeadline) }

// Failover reports whether the item was taken over from another server.
func (c Context) Failover() bool { return c.number(fieldFailover) != 0 }

// Misfire reports whether the run is for instants that were missed.
func (c Context) Misfire() bool { return c.number(fieldMisfire) != 0 }

// Streaming reports whether a dataflow job goes on until there is nothing more.
func (c Context) Streaming() bool { return c.number(fieldStreaming) != 0 }

// FetchCount returns how many elements the job wants in a batch; 0: as many as fetch
// likes.
func (c Context) FetchCount() int { return int(c.number(fieldFetchCount)) }

// HostMinor returns the number of additions to version 1 of the contract that the host
// has.
func (c Context) HostMinor() int { return int(c.number(fieldHostMinor)) }

// JSON returns the whole context as one document, as ElasticJob gives it to script jobs,
// with an additional part of this host.
func (c Context) JSON() []byte {
	b, _ := read(c.h.ctxJSON)
	return b
}

// Config returns a setting from the job's config table; false if it is not set.
func (c Context) Config(key string) (string, bool) {
	b, n := read(func(buf []byte) int32 { return c.h.configGet(key, buf) })
	return string(b), n >= 0
}

// Enabled reports whether lines of the level are logged.
func (c Context) Enabled(l Level) bool { return l >= Level(c.h.logLevel()) }

// Log writes a line to the host's log.
func (c Context) Log(l Level, msg string) { c.h.log(int32(min(max(l, LevelTrace), LevelError)), msg) }

// Logf formats and writes a line if its level is logged. With TinyGo, Log makes a smaller
// module.
func (c Context) Logf(l Level, format string, args ...any) {
	if c.Enabled(l) {
		c.Log(l, fmt.Sprintf(format, args...))
	}
}

// Debug logs a line that helps to find a fault.
func (c Context) Debug(msg string) { c.Log(LevelDebug, msg) }

// Info logs a line of general interest.
func (c Context) Info(msg string) { c.Log(LevelInfo, msg) }

// Warn logs a line about something unusual.
func (c Context) Warn(msg string) { c.Log(LevelWarn, msg) }

// Error logs a line about an error; it does not fail the run, as returning an error does.
func (c Context) Error(msg string) { c.Log(LevelError, msg) }

// Result sets the result of the run; a later call replaces it. It fails with ErrLimit,
// and changes nothing, if the result is too large for the host.
func (c Context) Result(b []byte) error { return check(c.h.resultSet(b), "set result") }

// ResultString is Result for text.
func (c Context) ResultString(s string) error { return c.Result([]byte(s)) }

// ResultJSON is Result for a value that is encoded as JSON.
func (c Context) ResultJSON(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode result: %w", err)
	}
	return c.Result(b)
}

// Cancelled returns why the run should stop, or Continue. A long job checks this
// regularly and returns; otherwise it is ended after its grace period.
func (c Context) Cancelled() Reason { return Reason(c.h.cancelled()) }

// Progress shows how far the run is.
func (c Context) Progress(done, total int64) { c.h.progress(done, total) }

// Metric adds to a sum that is recorded with the run. It fails with ErrInvalid for a name
// that is not 1 to 64 letters, digits, "_", "." or "-", or a value that is not finite,
// and with ErrLimit beyond 64 names.
func (c Context) Metric(name string, value float64) error {
	return check(c.h.metricAdd(name, value), "add to metric", name)
}
