package job

import (
	"log/slog"
	"time"
)

// InstanceID names one member of a job: "<ip>@-@<suffix>".
type InstanceID string

// Call is one attempt of one run of one item, as the guest is told of it.
type Call struct {
	Config   Config
	Instance InstanceID
	TaskID   string
	Total    int
	Item     int
	// ItemParam is the item's parameter; HasItemParam tells "" from none.
	ItemParam    string
	HasItemParam bool
	// AllItems are the parameters of every item that this fire runs on this
	// server; items without a parameter are absent from Params.
	Items  []int
	Params map[int]string

	RunID     string // job / item / instant, or the id of the trigger's request
	Attempt   int    // 1 for the first
	Scheduled time.Time
	Fence     int64
	Failover  bool
	Misfire   bool

	// Why tells a running guest that it should stop; it may be asked at any
	// time from any goroutine. Nil means never.
	Why func() StopReason
	// Log receives what the guest logs; nil discards.
	Log *slog.Logger
}

// StopReason is why a guest is asked to stop; the values are those that the
// ABI's function "cancelled" returns.
type StopReason int32

const (
	Continue StopReason = iota
	StopDeadline
	StopShutdown
	StopDisabled
	StopResharding
	StopSessionLost
)

// Verdict is how a call ended.
type Verdict string

const (
	OK        Verdict = "ok"
	Nothing   Verdict = "skipped"
	Failure   Verdict = "failed"
	Retryable Verdict = "retryable"
	Deadline  Verdict = "deadline"
	Stopped   Verdict = "stopped" // ended because the call's context was cancelled
)

// Outcome is what a call gave. A guest's fault is an Outcome, not a Go error.
type Outcome struct {
	Verdict Verdict
	Code    int32  // what the guest returned
	Result  []byte // result_set, cut at the limit
	Error   string // error_set, the trap with its stack, or the limit that was hit
	Digest  string // sha256 of the module, hex
	// What it cost.
	Took      time.Duration
	PeakBytes int64
	HostCalls int64
}
