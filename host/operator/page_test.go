package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// noted is a session that notes the jobs whose configuration is read.
type noted struct {
	registry.Session

	mu   sync.Mutex // guards read
	read map[string]bool
}

func (s *noted) Read(ctx context.Context, path string) (registry.Node, error) {
	if name, ok := strings.CutSuffix(path, "/config"); ok {
		s.mu.Lock()
		s.read[name] = true
		s.mu.Unlock()
	}
	return s.Session.Read(ctx, path)
}

func withJobs(t *testing.T, jobs int) *Operator {
	t.Helper()
	reg := embedded.Memory()
	o := operate(t, reg)
	t.Cleanup(func() {
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
	put(t, o, registry.Create, "/jobs", "")
	for i := range jobs {
		name := fmt.Sprintf("j%04d", i)
		l := layout.NewJob("jobs", name)
		put(t, o, registry.Create, l.Root(), "")
		if i%100 != 7 { // the others are no jobs
			put(t, o, registry.Create, l.At("config"), javatest.Config(func(c *v21.Config) {
				if i%3 > 0 { // the others have another job's configuration, which is unreadable
					c.JobName = name
				}
			}))
		}
	}
	return o
}

func names(page []JobReport) []string {
	var all []string
	for i := range page {
		all = append(all, page[i].Name)
	}
	return all
}

// All pages together have what Jobs returns.
func TestPagesAreAllJobs(t *testing.T) {
	t.Parallel()
	o := withJobs(t, 250)
	jobs, err := o.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := names(jobs)
	for _, f := range []JobFilter{{Limit: 1000}, {Limit: 100}, {Limit: 7}, {Limit: 3, State: "unreadable"}, {Limit: 10, Part: "1"}, {Limit: 2, Part: "j02", State: "down"}} {
		var want, got []string
		for i := range jobs {
			if strings.Contains(jobs[i].Name, f.Part) && (f.State == "" || jobs[i].State == f.State) {
				want = append(want, jobs[i].Name)
			}
		}
		for more := true; more; more = f.After != "" {
			page, next, err := o.JobsPage(t.Context(), f)
			if err != nil || len(page) > f.Limit || next != "" && next <= f.After {
				t.Fatalf("%+v: %d jobs, then %q: %v", f, len(page), next, err)
			}
			got, f.After = append(got, names(page)...), next
		}
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}
	s := &noted{Session: o.session, read: map[string]bool{}}
	o.session = s
	page, next, err := o.JobsPage(t.Context(), JobFilter{After: all[9], Limit: 5})
	if err != nil || !slices.Equal(names(page), all[10:15]) || next != all[14] || len(s.read) != 5 {
		t.Errorf("%v, then %q: %v; read %v", names(page), next, err, s.read)
	}
}

// A page for a state that no job has ends after 1000 jobs, and the next one continues there.
func TestPageReadsFewJobs(t *testing.T) {
	t.Parallel()
	o := withJobs(t, maxLooked+10)
	s := &noted{Session: o.session, read: map[string]bool{}}
	o.session = s
	page, next, err := o.JobsPage(t.Context(), JobFilter{State: "paused", Limit: 300})
	if err != nil || len(page) > 0 || next != fmt.Sprintf("j%04d", maxLooked-1) || len(s.read) != maxLooked {
		t.Errorf("%d jobs, then %q: %v; read %d", len(page), next, err, len(s.read))
	}
	page, next, err = o.JobsPage(t.Context(), JobFilter{State: "paused", Limit: 300, After: next})
	if err != nil || len(page) > 0 || next != "" {
		t.Errorf("%d jobs, then %q: %v", len(page), next, err)
	}
}

func TestPageOfNoNamespace(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := operate(t, reg)
	_, _, err := o.JobsPage(t.Context(), JobFilter{Limit: 1})
	wantCode(t, "no namespace", err, host.NotFound)
	if err := reg.Close(); err != nil {
		t.Error(err)
	}
}
