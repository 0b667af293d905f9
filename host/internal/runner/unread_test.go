package runner

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// An operator writes an unreadable schedule. The job goes on with the one before and
// reports the trouble, as does a server that starts then.
func TestScheduleThatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		log := &lockedBuffer{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
		<-s.Joined()
		time.Sleep(15 * time.Second)
		tool, err := reg.Open(t.Context(), func(registry.Event) {})
		must(t, err)
		at, _, _ := s.Layout.Nodes()
		text := []byte(s.snapshot.Load().view.Definition.Config.String())
		write := func(text []byte) {
			_, err := tool.Commit(t.Context(), registry.Op{Kind: registry.Set, Path: at, Data: text, Version: registry.AnyVersion})
			must(t, err)
		}
		write(bytes.Replace(text, []byte(`"cron":"10s"`), []byte(`"cron":"every now and then"`), 1))
		for _, when := range []string{"when it is written", "after a restart"} {
			n := rows.states()[trace.Succeeded]
			time.Sleep(time.Minute)
			if more := rows.states()[trace.Succeeded] - n; more < 5*4 {
				t.Errorf("%s, %d runs in a minute", when, more)
			}
			if text := reason.Words(s.Status().Troubles, "\n"); !strings.Contains(text, `the job keeps its earlier one, "10s"`) {
				t.Errorf("%s, its troubles are %q", when, text)
			}
			if when == "when it is written" {
				if !strings.Contains(log.String(), "level=ERROR msg=\"the job does not continue as expected\"") {
					t.Errorf("the log says nothing:\n%s", log)
				}
				s.stop(t)
				s = serve(t, reg, rows, "10.0.0.1", nil)
				<-s.Joined()
			}
		}
		write(text)
		time.Sleep(20 * time.Second)
		if st := s.Status(); len(st.Troubles) != 0 {
			t.Errorf("troubles when it is mended: %q", st.Troubles)
		}
		s.stop(t)
		rows.check(t, testJob, 4, 10*time.Second)
		must(t, tool.Close())
		must(t, reg.Close())
	})
}
