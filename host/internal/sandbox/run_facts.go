package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// runFacts are the facts that a guest can query about its run.
type runFacts struct {
	call        *job.Call
	digest      string
	seed        [32]byte // created on first use
	seedMade    bool
	deadline    time.Time // zero: none
	firedAt     time.Time
	contextText []byte       // created on first use
	pure        bool         // for a strategy, which must not know when and where it runs
	reportedEnd *reportedEnd // set while wasmjob_after is called
}

// reportedEnd is the end of the run as reported to its listener.
type reportedEnd struct {
	outcome int64  // a result code of the ABI
	reason  string // given by the guest; may be empty
}

// reportedEndOf converts a result to an outcome of the ABI. Codes without a meaning are failures.
func reportedEndOf(res callResult, reason string) *reportedEnd {
	e := &reportedEnd{outcome: int64(res.code), reason: reason}
	switch {
	case res.late:
		e.outcome = abi.ResultLate
	case res.code < 0 || res.code > abi.ResultSkipped && res.code < abi.ResultAuthor:
		e.outcome = abi.ResultFailed
	}
	return e
}

// clockStart returns where the fixed clock begins.
func (f *runFacts) clockStart() time.Time {
	if f.pure {
		return time.Date(2022, 1, 1, 0, 0, 0, 0, time.UTC) // the same on every server
	}
	return f.call.Scheduled
}

// newFacts returns the facts of a call that begins at fired and must end by deadline.
func newFacts(c *job.Call, digest string, fired, deadline time.Time) *runFacts {
	f := &runFacts{call: c, digest: digest, firedAt: fired, deadline: deadline}
	if !realClock(c) {
		// A guest without the clock grant must not learn the time indirectly.
		f.firedAt = c.Scheduled
		if !deadline.IsZero() {
			f.deadline = c.Scheduled.Add(deadline.Sub(fired))
		}
	}
	return f
}

// seedBytes returns a seed that is the same for all attempts of an item's run, so
// that a guest without real random numbers can be repeated exactly.
func (f *runFacts) seedBytes() [32]byte {
	if !f.seedMade {
		c := f.call
		f.seed = sha256.Sum256([]byte(c.Config.Name + "\x00" + c.RunID + "\x00" + strconv.Itoa(c.Item)))
		f.seedMade = true
	}
	return f.seed
}

func realClock(c *job.Call) bool { return c.Config.Allow.Clock == "real" }

// textField returns the value of a text field, or an error code of the ABI.
func (f *runFacts) textField(field uint32) (string, int32) {
	c := f.call
	// A strategy must give the same answer everywhere, so it does not learn these.
	if f.pure && (field == abi.FieldTaskID || field == abi.FieldInstanceID || field == abi.FieldRunID) {
		return "", abi.ErrNotFound
	}
	switch field {
	case abi.FieldJobName:
		return c.Config.Name, 0
	case abi.FieldTaskID:
		return c.TaskID, 0
	case abi.FieldJobParam:
		return c.Config.Param, 0
	case abi.FieldShardingParam:
		if c.HasItemParam {
			return c.ItemParam, 0
		}
		return "", abi.ErrNotFound
	case abi.FieldInstanceID:
		return string(c.Instance), 0
	case abi.FieldNamespace:
		return c.Namespace, 0
	case abi.FieldModuleDigest:
		return f.digest, 0
	case abi.FieldSeed:
		seed := f.seedBytes()
		return hex.EncodeToString(seed[:]), 0
	case abi.FieldRunID:
		return c.RunID, 0
	case abi.FieldReason:
		if f.reportedEnd == nil || f.reportedEnd.reason == "" {
			return "", abi.ErrNotFound
		}
		return f.reportedEnd.reason, 0
	}
	return "", abi.ErrUnknownField
}

// numberField returns the value of a number field, or abi.NoInt if it has none or is
// unknown.
func (f *runFacts) numberField(field uint32) int64 {
	c := f.call
	switch field {
	case abi.FieldShardingTotal:
		return int64(c.Total)
	case abi.FieldShardingItem:
		return int64(c.Item)
	case abi.FieldFireTime:
		return millis(f.firedAt)
	case abi.FieldDeadline:
		return millis(f.deadline)
	case abi.FieldAttempt:
		return int64(c.Attempt)
	case abi.FieldFailover:
		return boolInt(c.Failover)
	case abi.FieldMisfire:
		return boolInt(c.Misfire)
	case abi.FieldHostMinor:
		return abi.HostMinor
	case abi.FieldStreaming:
		return boolInt(c.Config.Kind == job.Dataflow && c.Config.Streaming && !f.pure)
	case abi.FieldFence:
		return c.Fence
	case abi.FieldScheduledTime:
		return millis(c.Scheduled)
	case abi.FieldFetchCount:
		return int64(c.Config.FetchCount)
	case abi.FieldOutcome:
		if f.reportedEnd != nil {
			return f.reportedEnd.outcome
		}
	case abi.FieldFireSucceeded, abi.FieldFireFailed, abi.FieldFireSkipped:
		if r := c.Results; r != nil && c.Event == job.FireCompleted {
			return int64([...]int{r.Succeeded, r.Failed, r.Skipped}[field-abi.FieldFireSucceeded])
		}
	}
	return abi.NoInt
}

// millis converts a time to the ABI's milliseconds; 0 for no time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// contextJSON returns the context of the run as JSON. It is built once.
func (f *runFacts) contextJSON() []byte {
	if f.contextText == nil {
		f.contextText = f.call.JSON()
	}
	return f.contextText
}
