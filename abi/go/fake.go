package wasmjob

import (
	"io"
	"maps"
	"time"
)

// Fake is a host for tests of a job's logic without a sandbox: set the input of the job,
// Run it, and check its output. It must be used from one goroutine.
type Fake struct {
	JobName, TaskID, RunID, JobParam, Instance, Namespace, ModuleDigest, Seed string

	Item, Total int
	Param       *string // nil if the item has none
	Attempt     int
	Fence       int64
	HostMinor   int
	FetchCount  int

	Ended       *Ended // how the run has ended, for a listener after; nil if it has not
	EndedReason string
	Fire        *Fire // how the items ended, for a listener completed; nil if unknown

	Scheduled, Fired, Deadline   time.Time // zero if there is none
	Failover, Misfire, Streaming bool
	JSON                         string
	Config                       map[string]string

	// Stop is called by Context.Cancelled and Sleep; nil means Continue.
	Stop func() Reason
	// MaxResult bounds the result as a host would; 0 for no bound.
	MaxResult int
	// Least is the lowest level that is logged.
	Least Level

	// Fields that are nil, or zero, are not granted.

	Clock   time.Time         // the time of Context.Now; Sleep advances it
	Random  io.Reader         // the source of Context.Random
	State   map[string]string // changed when an entry, or in Dataflow a whole batch, succeeds
	Secrets map[string]string
	HTTP    func(Request) (FakeAnswer, error) // a HostError is passed on, any other error becomes ErrIO

	Batch     []string       // filled by Fetch and read by Process
	Instances []FakeInstance // the instances of Shard
	Owners    []int          // the present owner of each item, -1 for none; may be shorter than Total

	Result      []byte   // as last set
	Err         string   // the reason that the host would record with the run
	Logs        []string // lines of every level
	Done, Goals int64    // as last reported
	Metrics     map[string]float64
	Slept       time.Duration
	Acks        map[int]Outcome // by index in Batch, for the last Process
	Handled     [3]int          // Dataflow counts elements by their last Outcome
	Assigned    map[int]int     // item to instance

	phase        phase
	working      map[string]string // State while an entry runs
	conversation []exchange
}

// FakeInstance is an instance that a strategy may assign items to.
type FakeInstance struct {
	ID     string
	Labels map[string]string
}

// FakeAnswer is a response of a Fake's network; status 0 means 200.
type FakeAnswer struct {
	Status int
	Header map[string]string
	Body   string
}

// phase is the entry that is running.
type phase int

const (
	running phase = iota
	fetching
	processing
	sharding
)

// Context returns the context of a job.
func (f *Fake) Context() Context { return Context{f} }

// Run runs a simple job, or a listener, as the host would, recovers its panics, and
// returns the result code: 0 success, 1 failed, 2 retry, 3 nothing to do, from 128 the
// author's own.
func (f *Fake) Run(job func(Context) error) int32 {
	return f.play(running, func() int32 { return runJob(f, job) })
}

// Fetch runs the fetch function of a dataflow job, which fills Batch.
func (f *Fake) Fetch(fetch func(Context, Sink) error) int32 {
	f.Batch = nil
	return f.play(fetching, func() int32 { return runFetch(f, fetch) })
}

// Process runs the process function of a dataflow job on Batch.
func (f *Fake) Process(process func(Context, Batch) error) int32 {
	f.Acks = nil
	return f.play(processing, func() int32 { return runProcess(f, process) })
}

// Dataflow runs both functions as often as the host would: once or, if the job is
// Streaming, until a batch is empty or the run should stop. A batch that fails takes back
// what its fetch has set.
func (f *Fake) Dataflow(fetch func(Context, Sink) error, process func(Context, Batch) error) int32 {
	for first := true; ; first = false {
		before := f.State // entries change a copy
		code := f.Fetch(fetch)
		switch {
		case code != resultOK && code != resultSkipped:
			return code
		case len(f.Batch) == 0 || code == resultSkipped:
			if first {
				return resultSkipped
			}
			return resultOK
		}
		if code = f.batch(process); code != resultOK {
			f.State = before
			return code
		}
		if !f.Streaming || f.cancelled() != int32(Continue) {
			return resultOK
		}
	}
}

// batch runs process, and once more for the elements to be retried.
func (f *Fake) batch(process func(Context, Batch) error) int32 {
	code := f.Process(process)
	var again []string
	for i, e := range f.Batch {
		switch o, marked := f.Acks[i]; {
		case o == AckRetry && code == resultOK: // it is passed once more
			again = append(again, e)
		case marked && o != AckRetry:
			f.Handled[o]++
		case marked || code != resultOK: // without an outcome, or to be retried after a failure
			f.Handled[AckFailed]++
		default:
			f.Handled[AckDone]++
		}
	}
	if len(again) == 0 {
		return code
	}
	f.Batch = again
	code = f.Process(process)
	for i := range again {
		// A second AckRetry counts as failed.
		if o, marked := f.Acks[i]; marked && o != AckDone || !marked && code != resultOK {
			f.Handled[AckFailed]++
		} else {
			f.Handled[AckDone]++
		}
	}
	return code
}

// Shard runs a strategy; its assignment is in Assigned.
func (f *Fake) Shard(shard func(Context, Deal) error) int32 {
	f.Assigned = nil
	return f.play(sharding, func() int32 { return runShard(f, shard) })
}

// play runs an entry: the state is kept only if it succeeds, and a panic is a failure.
func (f *Fake) play(p phase, entry func() int32) (code int32) {
	f.phase, f.working = p, maps.Clone(f.State)
	defer func() {
		if recover() != nil {
			code = resultFailed
		}
		if code == resultOK && f.State != nil {
			f.State = f.working
		}
		f.phase, f.working, f.conversation = running, nil, nil
	}()
	return entry()
}
