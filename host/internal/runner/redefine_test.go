package runner

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A file that is read again counts as at a start: its changes go into the registry, an
// operator's changes stay, and open runs end as they began.
func TestRedefine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Guests = takes(3 * time.Second) })
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Second).Add(11 * time.Second))) // all items run
		v := s.snapshot.Load().view
		c, err := v21.DecodeConfig([]byte(v.Definition.Config.String()))
		must(t, err)
		c.JobParameter = "an operator's"
		data, err := v21.UpdateConfig([]byte(v.Definition.Config.String()), c)
		must(t, err)
		must(t, s.Ask(t.Context(), protocol.AskConfig{Config: spelling.Text(data), Have: v.ConfigVersion}))
		synctest.Wait()

		file := testConfig()
		file.Shards, file.ItemParams, file.Timeout = 2, "0=z", 5*time.Second
		s.Redefine(&file)
		synctest.Wait()
		if c := s.Status().Config; c.Shards != 2 || c.ItemParams != "0=z" || c.Timeout != 5*time.Second || c.Param != "an operator's" {
			t.Errorf("in force is %+v", c)
		}
		time.Sleep(15 * time.Second)
		if got := rows.states(); got[trace.Succeeded] != 4+2 || len(got) != 1 {
			t.Errorf("rows %v, want those of 4 items and then of 2", got)
		}

		file.Param = "the file's" // the operator has changed that, too
		again := file
		s.Redefine(&again)
		synctest.Wait()
		if got := s.Status(); got.Config.Param != "an operator's" || len(got.Troubles) != 1 {
			t.Errorf("parameter %q, troubles %q", got.Config.Param, got.Troubles)
		}
		file.Param = "an operator's"
		s.Redefine(&file)
		synctest.Wait()
		if got := s.Status(); len(got.Troubles) != 0 {
			t.Errorf("troubles of those who agree: %q", got.Troubles)
		}
		s.stop(t)
		must(t, reg.Close())
	})
}

// A file that is read while the one before is being merged into the registry is merged
// afterwards.
func TestRedefineTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		faulty := registrytest.NewFaulty(embedded.Memory(), nil)
		s := serve(t, faulty, &book{}, "10.0.0.1", nil)
		<-s.Joined()
		synctest.Wait()
		back := faulty.Silence()
		for shards := range 2 {
			file := testConfig()
			file.Shards, file.ItemParams = 1+shards, ""
			s.Redefine(&file)
			synctest.Wait()
		}
		back()
		time.Sleep(time.Minute)
		if c := s.Status().Config; c.Shards != 2 {
			t.Errorf("%d items, want those of the last file", c.Shards)
		}
		s.stop(t)
		must(t, faulty.Close())
	})
}

// Whatever the job does when its file is read again, the last file gets into force: while
// the job joins, between two sessions, and while the file before is still being written.
func TestRedefineAtAnyTime(t *testing.T) {
	t.Parallel()
	tests := map[string]func(t *testing.T, s *server){
		"at the start": func(*testing.T, *server) {},
		"at the end of a session": func(t *testing.T, s *server) {
			t.Helper()
			<-s.Joined()
			synctest.Wait()
			must(t, s.kill())
		},
		"between sessions": func(t *testing.T, s *server) {
			t.Helper()
			<-s.Joined()
			synctest.Wait()
			must(t, s.kill())
			synctest.Wait()
		},
		"while it runs": func(_ *testing.T, s *server) {
			<-s.Joined()
			synctest.Wait()
		},
	}
	for name, until := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				reg := embedded.Memory()
				s := serve(t, reg, &book{}, "10.0.0.1", nil)
				until(t, s)
				for shards := range 20 {
					file := testConfig()
					file.Shards, file.ItemParams = 1+shards, ""
					s.Redefine(&file)
				}
				time.Sleep(time.Minute)
				if c := s.Status().Config; c.Shards != 20 || c.ItemParams != "" {
					t.Errorf("in force is %+v", c)
				}
				s.stop(t)
				must(t, reg.Close())
			})
		})
	}
}
