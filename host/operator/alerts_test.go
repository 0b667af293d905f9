package operator

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A silence is listed until it ends, and the audit shows its begin and end with their authors. The
// alerts in the same node stay as they are.
func TestSilence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		defer func() { _ = reg.Close() }()
		o, err := Open(t.Context(), reg, "jobs")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = o.Close() }()
		o.As(Author{Name: "ann", Way: ByToken})
		_, err = o.Silence(t.Context(), "a", time.Hour, "")
		wantCode(t, "a job that is not there", err, host.NotFound)
		kept := clustertree.Alerts{All: []clustertree.Alert{{Job: "a", Kind: "failed", Items: []clustertree.Span{{First: 1, Last: 1}}, Count: 2, First: 5, Last: 6, Text: "boom", Notify: []string{"ops"}, Left: []string{"ops"}}}}
		if err := o.makeTree(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/jobs", "/jobs/a"} {
			if _, err := o.session.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: path}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.session.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: o.tree.Alerts(), Data: kept.Encode()}); err != nil {
			t.Fatal(err)
		}
		expect := func(silenced bool, silences int) {
			t.Helper()
			alerts, all, err := o.Alerts(t.Context())
			if err != nil || len(alerts) != 1 || len(all) != silences || alerts[0].Silenced != silenced {
				t.Fatalf("alerts %+v, silences %+v, %v", alerts, all, err)
			}
			want := Alert{Job: "a", Kind: "failed", Items: []int{1}, Count: 2, First: time.UnixMilli(5), Last: time.UnixMilli(6), Text: "boom", Notify: []string{"ops"}, Untold: []string{"ops"}, Silenced: silenced}
			if diff := cmp.Diff(want, alerts[0]); diff != "" {
				t.Error(diff)
			}
		}
		expect(false, 0)
		for _, life := range []time.Duration{0, -time.Hour, time.Second, 31 * 24 * time.Hour} {
			_, err := o.Silence(t.Context(), "a", life, "")
			wantCode(t, life.String(), err, host.Invalid)
		}
		_, err = o.Silence(t.Context(), "a", time.Hour, strings.Repeat("y", 201))
		wantCode(t, "a long reason", err, host.Invalid)
		if s, err := o.Silence(t.Context(), "a", time.Hour, "the database moves"); err != nil || s.By != "ann" || s.Why != "the database moves" {
			t.Fatal(s, err)
		}
		expect(true, 1)
		if _, err := o.Silence(t.Context(), "a", 2*time.Hour, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute)
		expect(true, 1)
		time.Sleep(time.Hour)
		expect(false, 0)
		wantCode(t, "one that is over", o.Unsilence(t.Context(), "a"), host.NotFound)
		if _, err := o.Silence(t.Context(), "a", time.Hour, ""); err != nil {
			t.Fatal(err)
		}
		if err := o.Unsilence(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		expect(false, 0)
		rows, err := o.Audit(t.Context(), AuditFilter{Job: "a"})
		if err != nil || len(rows) != 4 || rows[0].Verb != "alert unsilence" || rows[0].Before == "" || rows[3].Verb != "alert silence" || rows[3].Detail != "the database moves" || rows[3].Name != "ann" {
			t.Errorf("audit %+v, %v", rows, err)
		}
	})
}
