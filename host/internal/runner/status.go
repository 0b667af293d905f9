package runner

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/status"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// snapshot is the state of a member at one moment. It never changes.
type snapshot struct {
	view      *protocol.View
	self      job.InstanceID
	effective *effective
	troubles  []reason.Reason // as reported by the core
}

// Status returns what the runner knows at this moment. It does not wait for the loop.
func (r *Runner) Status() job.Status {
	s := job.Status{Config: *r.requests.newestFile(), Troubles: r.troubles.list()}
	now := r.snapshot.Load()
	if now == nil {
		return s
	}
	s.Troubles = append(s.Troubles, now.troubles...)
	v := now.view
	s.Config, s.Instance, s.Leader, s.Paused = *now.effective.job, now.self, v.Leader, v.PausedAt(time.Now().UnixMilli())
	for _, in := range v.Instances {
		s.Instances = append(s.Instances, in.ID)
	}
	s.Troubles = append(s.Troubles, nextModuleAwaited(v)...)
	past := v.Past()
	s.Succeeded, s.Failed = past.Flow.Succeeded, past.Flow.Failed
	for _, it := range status.Items(v) {
		s.Items = append(s.Items, job.ItemStatus{
			Item: it.Item, Owner: it.Owner, Running: it.Running, Disabled: it.Disabled, Misfired: it.Misfired, Pending: it.Pending,
			TakenBy: it.TakenBy, LastBegin: moment(it.LastBegin), LastEnd: moment(it.LastEnd),
		})
	}
	return s
}

// Gauges are a job's numbers on this server.
type Gauges struct {
	Owned      int   // items
	Leads      bool  // this server is the leader
	Unstored   int64 // rows that wait for the history
	Unwritable bool  // the history takes no rows
}

// Gauges is a cheap Status: it does not allocate.
func (r *Runner) Gauges() Gauges {
	g := Gauges{Unstored: r.unstored.Load(), Unwritable: r.troubles.has(troubleHistory)}
	now := r.snapshot.Load()
	if now == nil || now.self == "" {
		return g
	}
	g.Leads = now.view.Leader == now.self
	for i := range now.view.Items {
		if now.view.Items[i].Owner == now.self {
			g.Owned++
		}
	}
	return g
}

// moment returns the time of a number of ms; 0 stands for none.
func moment(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// trouble is something that can go wrong while the job runs. Reports list them in this
// order.
type trouble uint8

const (
	troubleReadOnly trouble = iota
	troubleRead
	troubleCommit
	troubleLeft
	troubleHistory
	troubleSchedule
	troubleAfter
	troubleStrategy
	troubleDefinition
	troubleBarred
	troubleShared
	troubleClass
	troubleRemoved
	troubleRows
	troubleGuest
	troubleLoop
)

// code returns the reason code of a trouble whose text is an error.
func (t trouble) code() reason.Code {
	return [...]reason.Code{
		troubleReadOnly: reason.RegistryFailed, troubleRead: reason.RegistryUnread, troubleCommit: reason.RegistryUnwritten,
		troubleLeft: reason.EarlierLife, troubleHistory: reason.HistoryFailed, troubleSchedule: reason.ScheduleFailed,
		troubleStrategy: reason.StrategyFailing, troubleDefinition: reason.ConfigDisputed, troubleRows: reason.RowsRefused,
		troubleGuest: reason.GuestsIgnoreEnd, troubleLoop: reason.GivenUp,
	}[t]
}

// troubles holds what is wrong now. Each trouble has one or more reasons.
type troubles struct {
	mu  sync.Mutex // guards why: all goroutines of a member write it, others read it
	why map[trouble][]reason.Reason
}

// set sets a trouble by a text with one reason per line; "" clears it.
func (t *troubles) set(what trouble, text string) {
	var all []reason.Reason
	if text != "" {
		for line := range strings.SplitSeq(text, "\n") {
			all = append(all, reason.Of(what.code(), line))
		}
	}
	t.because(what, all)
}

// because sets a trouble to the given reasons; none clears it.
func (t *troubles) because(what trouble, all []reason.Reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(all) == 0 {
		delete(t.why, what)
		return
	}
	if t.why == nil {
		t.why = map[trouble][]reason.Reason{}
	}
	t.why[what] = all
}

func (t *troubles) clear(what trouble) { t.because(what, nil) }

// of returns the reasons of a trouble; none if all is well.
func (t *troubles) of(what trouble) []reason.Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.why[what]
}

func (t *troubles) has(what trouble) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.why[what]) > 0
}

// list returns all reasons, in the order of the troubles.
func (t *troubles) list() []reason.Reason {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []reason.Reason
	for _, what := range slices.Sorted(maps.Keys(t.why)) {
		all = append(all, t.why[what]...)
	}
	return all
}
