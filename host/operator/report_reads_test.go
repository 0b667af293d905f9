package operator

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/registry"
)

// slowly is a session whose reads take a millisecond, and which counts concurrent reads.
type slowly struct {
	registry.Session
	reads, most atomic.Int64
}

func (s *slowly) Read(ctx context.Context, path string) (registry.Node, error) {
	n := s.reads.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); {
		most = s.most.Load()
	}
	<-time.After(time.Millisecond)
	s.reads.Add(-1)
	return s.Session.Read(ctx, path)
}

// The number of concurrent reads is bounded for any number of jobs, and a few jobs still have
// several concurrent reads.
func TestReadsOfManyJobsAreBounded(t *testing.T) {
	t.Parallel()
	for jobs, least := range map[int]int64{1: 8, 4: readsAtOnce / 2, 200: readsAtOnce} {
		synctest.Test(t, func(t *testing.T) {
			o := operate(t, passing(t))
			put(t, o, registry.Create, "/jobs", "")
			for i := range jobs {
				root := fmt.Sprintf("/jobs/j%d", i)
				put(t, o, registry.Create, root, "")
				put(t, o, registry.Create, root+"/config", javatest.Config(nil))
			}
			s := &slowly{Session: o.session}
			o.session = s
			for what, look := range map[string]func() (int, error){
				"Jobs": func() (int, error) { all, err := o.Jobs(t.Context()); return len(all), err },
				"Checkups": func() (int, error) {
					all, err := o.Checkups(t.Context(), host.Options{})
					return len(all), err
				},
			} {
				s.most.Store(0)
				if n, err := look(); n != jobs || err != nil {
					t.Errorf("%s gave %d of %d jobs: %v", what, n, jobs, err)
				}
				if got := s.most.Load(); got > readsAtOnce || got < least {
					t.Errorf("%s of %d jobs: %d reads at once, want %d to %d", what, jobs, got, least, readsAtOnce)
				}
			}
			if err := o.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
