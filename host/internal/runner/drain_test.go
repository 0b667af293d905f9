package runner

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// An operator shuts the job down during a run. The run may end by itself within the same
// time as at a stop of the server; a later stop does not extend it.
func TestShutDownDrains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		runs    time.Duration
		stopped time.Duration // after the shutdown; 0 if the server is not stopped
		now     bool
		want    trace.State
		least   time.Duration
		most    time.Duration
	}{
		{"guests finish", 10 * time.Second, 0, false, trace.Succeeded, 5 * time.Second, 6 * time.Second},
		{"guests are ended", time.Hour, 0, false, trace.Cancelled, 30 * time.Second, 30*time.Second + defaultGrace + leaveTimeout},
		{"the server stops meanwhile", time.Hour, 20 * time.Second, false, trace.Cancelled, 30 * time.Second, 30*time.Second + defaultGrace + leaveTimeout},
		{"the server is to stop at once", time.Hour, 20 * time.Second, true, trace.Cancelled, 20 * time.Second, 20*time.Second + defaultGrace + leaveTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg, rows := embedded.Memory(), &book{}
				s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Guests = takes(c.runs) })
				time.Sleep(15 * time.Second)
				shutDown(t, reg, s)
				began := time.Now()
				switch time.Sleep(c.stopped); {
				case c.now:
					s.now()
				case c.stopped > 0:
					s.cancel()
				}
				<-s.done
				must(t, s.err)
				if took := time.Since(began); took < c.least || took > c.most {
					t.Errorf("drained in %v, want %v to %v", took, c.least, c.most)
				}
				if diff := cmp.Diff(map[trace.State]int{c.want: 4}, rows.states()); diff != "" {
					t.Errorf("states (-want +got):\n%s", diff)
				}
				notHere(t, s)
				must(t, reg.Close())
			})
		})
	}
}

// notHere checks that the server is no longer a member of the job and shows none of its
// members.
func notHere(t *testing.T, s *server) {
	t.Helper()
	if st := s.Status(); st.Instance != "" || st.Leader != "" || len(st.Instances) != 0 || len(st.Items) != 0 || st.Config.Name != testJob {
		t.Errorf("status %+v of a job that has left this server", st)
	}
}

// shutDown shuts a server down as ElasticJob's tool does.
func shutDown(t *testing.T, reg registry.Registry, s *server) {
	t.Helper()
	operator, err := reg.Open(t.Context(), nil)
	must(t, err)
	node := layout.NewJob("test", testJob).Instance(s.Status().Instance)
	_, err = operator.Commit(t.Context(), registry.Op{Kind: registry.Delete, Path: node, Version: registry.AnyVersion})
	must(t, err)
}

// The session ends while a job that was shut down lets its guests finish. The job does
// not return with the next session.
func TestShutDownOutlivesTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		s := serve(t, reg, &book{}, "10.0.0.1", func(o *Options) { o.Guests = takes(10 * time.Second) })
		time.Sleep(12 * time.Second)
		shutDown(t, reg, s)
		time.Sleep(time.Second)
		must(t, s.kill())
		<-s.done
		if !errors.Is(s.err, registry.ErrEnded) {
			t.Errorf("it ended with %v", s.err)
		}
		must(t, reg.Close())
	})
}
