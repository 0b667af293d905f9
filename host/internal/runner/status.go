package runner

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// snapshot is where a member stands; nothing in it changes.
type snapshot struct {
	view      *protocol.View
	self      job.InstanceID
	effective *effective
	troubles  []string // what the core says
}

// Status is what the runner knows at this moment. It blocks nobody.
func (r *Runner) Status() job.Status {
	s := job.Status{Config: *r.Config, Troubles: r.troubles.list()}
	now := r.snapshot.Load()
	if now == nil {
		return s
	}
	s.Troubles = append(s.Troubles, now.troubles...)
	v := now.view
	s.Config, s.Instance, s.Leader, s.Paused = *now.effective.job, now.self, v.Leader, v.Paused
	for _, in := range v.Instances {
		s.Instances = append(s.Instances, in.ID)
	}
	if text := awaited(v); text != "" {
		s.Troubles = append(s.Troubles, text)
	}
	past := v.Past()
	s.Succeeded, s.Failed = past.Flow.Succeeded, past.Flow.Failed
	for i, it := range v.Items {
		surplus := v.Config != nil && i >= v.Config.Total && it.Owner == "" // only what is not ours keeps its node
		if it.Exists && !surplus {
			s.Items = append(s.Items, job.ItemStatus{
				Item: i, Owner: it.Owner, Running: it.Running != 0 || it.RunningP, Disabled: it.Disabled,
				Misfired: it.Misfire, TakenBy: it.Failover, LastBegin: moment(past.Begun, i), LastEnd: moment(past.Ended, i),
			})
		}
	}
	for _, p := range v.Pending {
		if i := find(s.Items, p.Item); i >= 0 {
			s.Items[i].Pending = true
		}
	}
	for k := range v.Runs {
		for _, e := range v.Runs[k].Open {
			if i := find(s.Items, e.Item); i >= 0 {
				s.Items[i].Running = true
			}
		}
	}
	return s
}

func moment(by []int64, i int) time.Time {
	if i >= len(by) || by[i] == 0 {
		return time.Time{}
	}
	return time.UnixMilli(by[i])
}

func find(items []job.ItemStatus, n int) int {
	i, ok := slices.BinarySearchFunc(items, n, func(s job.ItemStatus, n int) int { return s.Item - n })
	if !ok {
		return -1
	}
	return i
}

// trouble names what can go wrong while the job runs.
type trouble uint8

const (
	troubleReadOnly trouble = iota
	troubleRead
	troubleCommit
	troubleLeft
	troubleHistory
	troubleSchedule
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

func (t trouble) String() string {
	return [...]string{"registry", "registry read", "registry write", "earlier life", "history", "schedule", "strategy", "configuration", "it does not run here", "beside ElasticJob", "class", "removed", "rows lost to the history", "guests that ignore their end", "given up"}[t]
}

// troubles are what goes wrong at present, one or more lines each.
type troubles struct {
	mu   sync.Mutex // guards text: all goroutines of a member write it, anybody reads
	text map[trouble]string
}

func (t *troubles) set(what trouble, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" {
		delete(t.text, what)
		return
	}
	if t.text == nil {
		t.text = map[trouble]string{}
	}
	t.text[what] = text
}

func (t *troubles) clear(what trouble) { t.set(what, "") }

func (t *troubles) list() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []string
	for _, what := range slices.Sorted(maps.Keys(t.text)) {
		for line := range strings.SplitSeq(t.text[what], "\n") {
			all = append(all, what.String()+": "+line)
		}
	}
	return all
}
