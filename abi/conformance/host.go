package conformance

import "context"

// Host runs modules.
type Host interface {
	// Do carries out one request and returns the answer. An error means that the host
	// cannot answer at all: a module's fault is an Answer.
	Do(ctx context.Context, r Request) (Answer, error)
}

// Request asks a host to load a module and call it once. Absent fields have the host's
// defaults. A host must not remember anything of a request for later ones, except that it
// may keep the module compiled.
type Request struct {
	Module []byte `json:"module"` // base64 in JSON
	// Kind is simple, dataflow, script or strategy. If empty, the module is only loaded.
	Kind string `json:"kind,omitempty"`
	// Event is started or completed, to call that listener instead.
	Event  string `json:"event,omitempty"`
	Job    Job    `json:"job"`
	Run    Run    `json:"run"`
	Allow  Allow  `json:"allow"`
	Limits Limits `json:"limits"`
	// Fire says how the items of the fire ended, for the event completed; nil if the host
	// does not know.
	Fire *Fire `json:"fire,omitempty"`
	// Deal is for a strategy.
	Deal Deal `json:"deal"`
}

// Fire counts items.
type Fire struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
}

// Job holds the facts that all runs of a job share.
type Job struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Param       string            `json:"param"`
	Config      map[string]string `json:"config,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Streaming   bool              `json:"streaming,omitempty"`
	FetchCount  int               `json:"fetchCount,omitempty"`
	Concurrency int               `json:"concurrency,omitempty"`
}

// Run is one attempt.
type Run struct {
	Item      int            `json:"item"`
	Total     int            `json:"total"`
	ItemParam *string        `json:"itemParam"` // nil if it has none
	Items     []int          `json:"items"`     // all items of this fire on this server
	Params    map[int]string `json:"params"`
	TaskID    string         `json:"taskId"`
	RunID     string         `json:"runId"`
	Instance  string         `json:"instance"`
	Attempt   int            `json:"attempt"`
	Fence     int64          `json:"fence"`
	Scheduled int64          `json:"scheduled"` // milliseconds since 1970
	Failover  bool           `json:"failover"`
	Misfire   bool           `json:"misfire"`
}

// Allow lists the grants; the zero value grants nothing.
type Allow struct {
	// Clock, if set, is a granted clock that shows this fixed time, in milliseconds since
	// 1970.
	Clock  *int64 `json:"clock,omitempty"`
	Random bool   `json:"random,omitempty"`
	State  bool   `json:"state,omitempty"`
	// Values are the item's state before the run.
	Values  map[string]string `json:"values,omitempty"`
	Secrets map[string]string `json:"secrets,omitempty"`
	// HTTP lists the granted requests with their responses; others are denied.
	HTTP []Exchange `json:"http,omitempty"`
	Dirs []Dir      `json:"dirs,omitempty"`
	// Env are the variables of the environment.
	Env map[string]string `json:"env,omitempty"`
}

// Exchange is one request and its answer.
type Exchange struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // headers that the request must have
	Body    string            `json:"body,omitempty"`    // the body that it must have; empty for any
	Status  int               `json:"status"`
	Answer  map[string]string `json:"answer,omitempty"` // headers
	Content string            `json:"content,omitempty"`
	// Fails makes the network fail instead.
	Fails bool `json:"fails,omitempty"`
}

// Dir is a granted directory on the host's machine.
type Dir struct {
	Host  string `json:"host"`
	Guest string `json:"guest"`
	Write bool   `json:"write,omitempty"`
}

// Limits of one run; 0 is the default of the contract.
type Limits struct {
	Memory  int64 `json:"memory,omitempty"`  // bytes; default 64 MiB
	Timeout int64 `json:"timeout,omitempty"` // milliseconds; default: none
	Grace   int64 `json:"grace,omitempty"`   // milliseconds
	Fuel    int64 `json:"fuel,omitempty"`
}

// Deal is the input of a strategy.
type Deal struct {
	Instances []Instance `json:"instances,omitempty"`
	// Previous is, per item, the index of its owner, or -1.
	Previous []int `json:"previous,omitempty"`
}

// Instance is an instance that may get items.
type Instance struct {
	ID     string            `json:"id"`
	Labels map[string]string `json:"labels,omitempty"`
}

// Answer is the outcome of a request.
type Answer struct {
	// Refused is the reason why the module was refused; then no other field is set.
	Refused string `json:"refused,omitempty"`
	// Verdict is ok, skipped, failed, retryable, deadline or fuel.
	Verdict string `json:"verdict"`
	Code    int32  `json:"code"` // the result of the entry, or the exit code of a script
	Result  []byte `json:"result,omitempty"`
	Reason  string `json:"reason,omitempty"` // unless the verdict is ok
	Logs    []Line `json:"logs,omitempty"`
	// Values are the item's state afterwards.
	Values  map[string]string  `json:"values,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Flow    Flow               `json:"flow"`
	// Owners is what a strategy assigned: per item, the index of an instance.
	Owners []int `json:"owners,omitempty"`
	Fuel   int64 `json:"fuel,omitempty"`
	// Requests lists the requests of the guest, granted or not, as "METHOD URL".
	Requests []string `json:"requests,omitempty"`
}

// Line is one line of the guest's log.
type Line struct {
	Level string `json:"level"` // trace, debug, info, warn or error
	Text  string `json:"text"`
}

// Flow counts the elements of a dataflow job.
type Flow struct {
	Batches   int64 `json:"batches"`
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
}
