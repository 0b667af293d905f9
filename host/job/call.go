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

// Call is one attempt of one run of one item, with everything that the guest may
// know of it.
type Call struct {
	Config   Config
	Instance InstanceID
	TaskID   string
	Total    int
	Item     int
	// ItemParam is the item's parameter; HasItemParam distinguishes "" from no
	// parameter.
	ItemParam    string
	HasItemParam bool
	// Items are those that this fire runs on this server, and Params their
	// parameters; an item without one is absent from Params.
	Items  []int
	Params map[int]string

	RunID     string // job / item / instant, or the id of the trigger's request
	Attempt   int    // 1 for the first
	Scheduled time.Time
	Fence     int64
	Failover  bool
	Misfire   bool

	// Why returns the reason why a running guest should stop. Any goroutine may
	// call it at any time. Nil means never.
	Why func() StopReason
	// Log receives what the guest logs; nil discards.
	Log *slog.Logger

	// Namespace is the namespace of the registry; empty if there is none.
	Namespace string
	// Event says that a listener is called instead of the entry.
	Event Event
	// Results are how the runs of the fire ended; of FireCompleted alone, and nil
	// if that is not known any more.
	Results *FireResults
	// State keeps what the guest sets, if state is granted; nil: every run
	// begins with nothing and nothing is kept.
	State State
	// HTTP sends the guest's requests, and refuses those that are not granted
	// with ErrDenied; nil: none is.
	HTTP HTTP
	// Secrets are the granted secrets, by name.
	Secrets map[string]string
	// Now is the granted clock; nil: the real one.
	Now func() time.Time
	// Worker is the run's right to compute, which the run holds when it begins. The
	// code that runs the guest should release it while it waits; nil: any number of
	// runs may compute.
	Worker Worker
	// Lease is how long the run may go on without its server; nil: as long as it
	// likes.
	Lease Lease
}

// Lease says how long a run may go on outside of the server's process, which may
// stand still while another server takes the run over.
type Lease interface {
	// Left returns for how long no other server can begin the run, whatever happens
	// to this one. It grows whenever the registry answers. If bounded is false, no
	// other server can ever begin it, or the job lets its runs finish all the same.
	Left() (left time.Duration, bounded bool)
	// Lapsed is to be called when the run was ended since nothing was left.
	Lapsed()
}

// Worker is the right of a run to compute. A server has so many, and a run that
// keeps one while it waits keeps others from computing.
type Worker interface {
	// Release releases the worker, if the run holds it.
	Release()
	// Acquire waits until the run holds the worker again. An error is that of ctx,
	// and the run then does not hold it.
	Acquire(ctx context.Context) error
	// Fork returns the worker of a part of the run that goes on concurrently.
	// Acquire it first, and release it in the end.
	Fork() Worker
}

// Event is a kind of call of a listener: it concerns a fire of the job as a whole.
type Event string

const (
	FireStarted   Event = "started"
	FireCompleted Event = "completed"
)

// FireResults counts how the items of a fire ended, each by its last attempt.
// Disabled items, and those whose end is unknown, are not counted.
type FireResults struct{ Succeeded, Failed, Skipped int }

// State is where the values of one item are kept between runs.
type State interface {
	// Load returns all values; the caller may change the map.
	Load(ctx context.Context) (map[string][]byte, error)
	// Save replaces all values. It fails if the item has passed to another
	// member meanwhile.
	Save(ctx context.Context, values map[string][]byte) error
}

// HTTP sends requests for guests. It is in plain types, as net/http belongs to
// the package that does it.
type HTTP interface {
	// Do sends one request and returns the head of the response, with its body to
	// be read. It follows redirects, each under the same grants; the end of ctx
	// also ends the reading of the body.
	Do(ctx context.Context, r HTTPRequest) (*HTTPResponse, error)
}

// HTTPRequest is one request of a guest.
type HTTPRequest struct {
	Method, URL string
	Header      []HTTPField // in the guest's order
	Body        []byte
	// Private are names of the fields that must not reach another host by a
	// redirect.
	Private []string
	// Redirect, if not nil, is called before each redirect is followed; its error
	// ends the request.
	Redirect func() error
}

// HTTPField is one line of a head.
type HTTPField struct{ Name, Value string }

// MayName reports whether a guest may send a field of that name. It has to be a token of
// HTTP, and not one that determines the framing of the request or names another host than
// the URL, which the host decides.
func (f HTTPField) MayName() bool {
	const marks = "!#$%&'*+-.^_`|~"
	return f.Name != "" && !strings.ContainsFunc(f.Name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9') && !strings.ContainsRune(marks, r)
	}) && !slices.Contains([]string{
		"connection", "content-length", "expect", "host", "http2-settings", "keep-alive", "proxy-authenticate",
		"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
	}, strings.ToLower(f.Name))
}

// MayHold reports whether the value has no control character, which could end the header early.
func (f HTTPField) MayHold() bool {
	return !strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// HTTPResponse is the answer to one. The caller closes the body.
type HTTPResponse struct {
	Status int
	Header []HTTPField
	Body   io.ReadCloser
	Calls  int // requests that it took, redirects included
}

// ErrDenied is the cause of an error of HTTP.Do for what is not granted.
var ErrDenied = errors.New("not granted")

// StopReason is why a guest is asked to stop; the values are the results of the
// ABI's function "cancelled".
type StopReason int32

const (
	Continue StopReason = iota
	StopDeadline
	StopShutdown
	StopDisabled
	StopResharding
	StopSessionLost
)

// ErrStopNow, as the cause of the end of a host's context, asks guests to stop at
// once instead of after the drain time.
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

// Outcome is the result of a call. A guest's fault is an Outcome, not a Go error.
type Outcome struct {
	Verdict Verdict
	// Code is what the entry returned, or the exit code of a script. HasCode is
	// true if the verdict follows from it: a run that trapped, ended itself without
	// being a script, or was late has no code.
	Code    int32
	HasCode bool
	Result  []byte // result_set, cut at the limit
	Shown   string // the beginning of Result as logs may have it: one line or more, without secrets
	Error   string // error_set, the trap with its stack, or the limit that was hit
	Digest  string // sha256 of the module, hex
	// What it cost.
	Took      time.Duration
	PeakBytes int64
	HostCalls int64
	Fuel      int64
	Metrics   map[string]float64 // metric_add
	Flow      Flow               // of a dataflow job
}

// Flow counts what a dataflow job handled.
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
	// Previous is, per item, the index of the present owner, or -1.
	Previous []int
	Log      *slog.Logger
}

// ShardInstance is one that may be given items.
type ShardInstance struct {
	ID     InstanceID
	Labels map[string]string // of its server
}
