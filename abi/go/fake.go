package wasmjob

import "time"

// Fake is a host for tests of a job's logic outside of a sandbox: fill in what
// the job will ask, Run it, and look at what it told. It is for one goroutine.
type Fake struct {
	JobName, TaskID, RunID, JobParam, Instance, ModuleDigest, Seed string

	Item, Total int
	Param       *string // nil: the item has none
	Attempt     int
	Fence       int64

	Scheduled, Fired, Deadline time.Time // zero: none
	Failover, Misfire          bool
	JSON                       string
	Config                     map[string]string

	// Stop is asked by Context.Cancelled; nil means Continue.
	Stop func() Reason
	// MaxResult bounds the result as a host would; 0: no bound.
	MaxResult int

	Result      []byte   // the last one that was set
	Err         string   // the text that the host would keep with the run
	Logs        []string // lines of every level
	Done, Goals int64    // the last progress
}

// Context is what the job is given.
func (f *Fake) Context() Context { return Context{f} }

// Run runs a job as the host would, with its panics caught, and answers the
// result code: 0 for success, 1 failed, 2 try again, 3 nothing to do.
func (f *Fake) Run(job func(Context) error) int32 { return runJob(f, job) }

func fill(buf []byte, s string) int32 {
	if len(s) <= len(buf) {
		copy(buf, s)
	}
	return int32(len(s))
}

func (f *Fake) ctxStr(field int32, buf []byte) int32 {
	switch field {
	case fieldJobName:
		return fill(buf, f.JobName)
	case fieldTaskID:
		return fill(buf, f.TaskID)
	case fieldJobParam:
		return fill(buf, f.JobParam)
	case fieldShardingParam:
		if f.Param == nil {
			return errNotFound
		}
		return fill(buf, *f.Param)
	case fieldInstanceID:
		return fill(buf, f.Instance)
	case fieldModuleDigest:
		return fill(buf, f.ModuleDigest)
	case fieldSeed:
		return fill(buf, f.Seed)
	case fieldRunID:
		return fill(buf, f.RunID)
	}
	return errUnknownField
}

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
	case fieldFence:
		return f.Fence
	case fieldScheduledTime:
		return millis(f.Scheduled)
	}
	return noInt
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (f *Fake) ctxJSON(buf []byte) int32 { return fill(buf, f.JSON) }

func (f *Fake) configGet(key string, buf []byte) int32 {
	v, ok := f.Config[key]
	if !ok {
		return errNotFound
	}
	return fill(buf, v)
}

func (f *Fake) log(_ int32, msg string) { f.Logs = append(f.Logs, msg) }

func (f *Fake) logLevel() int32 { return int32(LevelTrace) }

func (f *Fake) resultSet(b []byte) int32 {
	if f.MaxResult > 0 && len(b) > f.MaxResult {
		return errLimit
	}
	f.Result = append([]byte{}, b...)
	return 0
}

func (f *Fake) errorSet(msg string) int32 {
	f.Err = msg
	return 0
}

func (f *Fake) cancelled() int32 {
	if f.Stop == nil {
		return int32(Continue)
	}
	return int32(f.Stop())
}

func (f *Fake) progress(done, total int64) { f.Done, f.Goals = done, total }
