package job

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// InstanceID names one member of a job: "<ip>@-@<suffix>".
type InstanceID string

// Call is one attempt of a run of one item, with all that the guest may know about it.
type Call struct {
	Config   Config
	Instance InstanceID
	TaskID   string
	Total    int
	Item     int
	// ItemParam is the item's parameter; HasItemParam distinguishes an empty parameter from
	// none.
	ItemParam    string
	HasItemParam bool
	// Items are the items that this server runs at this fire. Params holds their parameters;
	// items without one are absent.
	Items  []int
	Params map[int]string

	RunID     string    // job/item/instant, or the id of the request that triggered it
	Attempt   int       // counted from 1
	Scheduled time.Time // the instant of the run
	Fence     int64     // the fencing token
	Failover  bool      // the item was taken from a dead member
	Misfire   bool      // the run replaces missed instants

	// Why returns the reason why a running guest should stop. Any goroutine may call it at any
	// time. If it is nil, the guest is never asked to stop.
	Why func() StopReason
	// Log receives what the guest logs; nil discards it.
	Log *slog.Logger

	// Namespace is the namespace of the registry; empty if there is none.
	Namespace string
	// Event, if set, calls the listener for this event instead of the entry.
	Event Event
	// Results count how the runs of the fire ended. They are set for FireCompleted only, and
	// nil if no longer known.
	Results *FireResults
	// State keeps the guest's values, if state is granted. If it is nil, every run begins with
	// none and nothing is kept.
	State State
	// HTTP sends the guest's requests, and refuses those that are not granted with ErrDenied.
	// If it is nil, none is granted.
	HTTP HTTP
	// Secrets are the granted secrets, by name.
	Secrets map[string]string
	// Now is the granted clock; nil is the real one.
	Now func() time.Time
	// Worker is the run's right to compute. The run holds it at the beginning, and the code
	// that runs the guest should release it while it waits. If it is nil, any number of runs
	// may compute.
	Worker Worker
	// Lease limits how long the run may go on without its server; nil is no limit.
	Lease Lease
}

// Lease limits how long a run may go on outside of the server's process, which may hang while
// another server takes the run over.
type Lease interface {
	// Left returns how long no other server can begin the run, whatever happens to this one. It
	// grows whenever the registry answers. If bounded is false, no other server can ever begin
	// the run, or the job lets its runs finish anyway.
	Left() (left time.Duration, bounded bool)
	// Lapsed must be called after the run was ended because no time was left.
	Lapsed()
}

// Worker is a run's right to compute. A server has a fixed number of workers, so a run that
// keeps one while it waits keeps others from computing.
type Worker interface {
	// Release releases the worker if the run holds it.
	Release()
	// Acquire waits until the run holds the worker again. If ctx ends first, it returns the
	// context's error and the run does not hold the worker.
	Acquire(ctx context.Context) error
	// Fork returns a worker for a concurrent part of the run. Call Acquire on it first and
	// Release at the end.
	Fork() Worker
}

// Event is an event of a fire as a whole, for which a listener is called.
type Event string

const (
	FireStarted   Event = "started"
	FireCompleted Event = "completed"
)

// FireResults counts how the items of a fire ended, each by its last attempt. Disabled items,
// and items whose end is unknown, are not counted.
type FireResults struct{ Succeeded, Failed, Skipped int }

// State keeps the values of one item between runs.
type State interface {
	// Load returns all values; the caller may change the map.
	Load(ctx context.Context) (map[string][]byte, error)
	// Save replaces all values. It fails if the item has moved to another member meanwhile.
	Save(ctx context.Context, values map[string][]byte) error
}

// HTTP sends requests for guests. Its types are plain because only the package that sends them
// may use net/http.
type HTTP interface {
	// Do sends one request and returns the head of the response with its body still to be read.
	// It follows redirects, each under the same grants. The end of ctx also ends the reading of
	// the body.
	Do(ctx context.Context, r HTTPRequest) (*HTTPResponse, error)
}

// HTTPRequest is one request of a guest.
type HTTPRequest struct {
	Method, URL string
	Header      []HTTPField // in the guest's order
	Body        []byte
	// Private are the names of fields that must not follow a redirect to another host.
	Private []string
	// Redirect, if not nil, is called before each redirect is followed. If it fails, so does
	// the request.
	Redirect func() error
}

// HTTPField is one header field.
type HTTPField struct{ Name, Value string }

// MayName reports whether a guest may send a field with this name. The name must be a valid token
// of HTTP. The fields that are refused say how the request is sent or to which host, which the
// server decides.
func (f HTTPField) MayName() bool {
	const marks = "!#$%&'*+-.^_`|~"
	return f.Name != "" && !strings.ContainsFunc(f.Name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') && !strings.ContainsRune(marks, r)
	}) && !slices.Contains([]string{
		"connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate",
		"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	}, strings.ToLower(f.Name))
}

// MayHold reports whether the value is free of control characters, which could end the field
// early.
func (f HTTPField) MayHold() bool {
	return !strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// HTTPResponse is the response to an HTTPRequest. The caller closes the body.
type HTTPResponse struct {
	Status int
	Header []HTTPField
	Body   io.ReadCloser
	Calls  int // requests sent for it, redirects included
}

// ErrDenied is wrapped by errors of HTTP.Do about requests that are not granted.
var ErrDenied = errors.New("not granted")

// StopReason is why a guest is asked to stop. The values are the results of the ABI's function
// "cancelled".
type StopReason int32

const (
	Continue StopReason = iota
	StopDeadline
	StopShutdown
	StopDisabled
	StopResharding
	StopSessionLost
)

// ErrStopNow, as the cause of the end of a host's context, asks guests to stop at once instead
// of after the drain time.
var ErrStopNow = errors.New("guests must stop at once")

// Verdict is how a call ended.
type Verdict string

const (
	OK        Verdict = "ok"
	Nothing   Verdict = "skipped"
	Failure   Verdict = "failed"
	Retryable Verdict = "retryable"
	Deadline  Verdict = "deadline"
	Stopped   Verdict = "stopped" // ended because the call's context was cancelled
	OutOfFuel Verdict = "fuel"    // ended because it used up Limits.Fuel
)

// Outcome is the result of a call. A guest that fails is an Outcome, not a Go error.
type Outcome struct {
	Verdict Verdict
	// Code is what the entry returned, or the exit code of a script. HasCode is true if the
	// verdict follows from it. A run that trapped, timed out, or exited without being a script
	// has no code.
	Code    int32
	HasCode bool
	Result  []byte // result_set, cut at the limit
	Shown   string // beginning of Result for logs: one or more lines, without secrets
	Error   string // error_set, the trap with its stack, or the limit that was hit
	Digest  string // sha256 of the module, hex
	// Costs of the run.
	Took      time.Duration
	PeakBytes int64
	HostCalls int64
	Fuel      int64
	Metrics   map[string]float64 // metric_add
	Flow      Flow               // of a dataflow job
}

// Flow counts the elements that a dataflow job handled.
type Flow struct {
	Batches, Succeeded, Failed int64
}

// ShardCall asks a strategy's module to assign the items of a job.
type ShardCall struct {
	Config    Config
	Namespace string
	Total     int
	// Instances in descending order of their ids.
	Instances []ShardInstance
	// Previous has, for each item, the index of the present owner, or -1.
	Previous []int
	Log      *slog.Logger
}

// ShardInstance is an instance that may get items.
type ShardInstance struct {
	ID     InstanceID
	Labels map[string]string // of its server
}
