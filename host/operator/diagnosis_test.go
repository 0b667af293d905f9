package operator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
)

// An emptied registry gives lower tokens than earlier runs had, even before the job is
// created again. For a job that may not be read, that is not known.
func TestTokensGoBackwards(t *testing.T) {
	t.Parallel()
	all := []Checkup{{Job: "orders", Layout: "2.1", Newest: 40}, {Job: "mail", Layout: "2.1", Newest: 41}, {Job: "gone", Newest: 3}, {Job: "secret", Newest: -1}}
	o := operate(t, memory(t))
	for i, want := range []string{"a run with the token 41, but the registry has only reached 40", "", "has only reached 3:", ""} {
		c := &all[i]
		o.Recall(nil)
		if err := o.compareTokens(t.Context(), c); err != nil || c.Notes != nil {
			t.Errorf("%s: without a history: %v, %v", c.Job, c.Notes, err)
		}
		o.Recall(func(_ context.Context, name string, _ *int, _ time.Time) ([]trace.Row, []string, error) {
			return []trace.Row{{Job: name, Fence: 7}, {Job: name, Fence: 41}}, nil, nil
		})
		if err := o.compareTokens(t.Context(), c); err != nil {
			t.Error(err)
		}
		if notes := reason.Words(c.Notes, "\n"); !strings.Contains(notes, want) || (notes == "") != (want == "") {
			t.Errorf("%s: notes %q, want %q", c.Job, notes, want)
		}
	}
}

// Nodes that a command without a registry user has created are open to all, and doctor reports
// that to a server with a user. If a user may not create the cluster's state, the errors of verbs
// say which user has to do what.
func TestPermissionsOfTheState(t *testing.T) {
	t.Parallel()
	server := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	as := func(chroot, digest string) *Operator {
		t.Helper()
		reg, err := zk.New(zk.Options{Servers: []string{server.Address()}, SessionTimeout: 4 * time.Second, Chroot: chroot, Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		o := operate(t, reg)
		t.Cleanup(func() {
			if err := reg.Close(); err != nil {
				t.Error(err)
			}
		})
		return o
	}
	breaks := func(o *Operator) string {
		t.Helper()
		d, err := o.Doctor(t.Context(), host.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, r := range d.Breaks {
			lines = append(lines, r.WithHint())
		}
		return strings.Join(lines, "\n")
	}
	anybody, me := as("", ""), as("", "me:secret")
	if got := breaks(me); got != "" {
		t.Errorf("nothing is there yet, and doctor says %s", got)
	}
	newToken(t, anybody, "early", RoleAdmin, 0)
	const wide = "/jobs.wasmjobd, /jobs.wasmjobd/tokens, /jobs.wasmjobd/audit, /jobs.wasmjobd/keys"
	if got := breaks(me); !strings.Contains(got, wide) || !strings.Contains(got, "setAcl -R /jobs.wasmjobd auth::cdrwa") {
		t.Errorf("the state is open to all, and doctor says %q", got)
	}
	if got := breaks(anybody); got != "" {
		t.Errorf("to a server without a user doctor says %s", got)
	}
	owner := as("/guarded", "me:secret")
	you := as("/guarded", "you:secret")
	_, _, err := you.CreateToken(t.Context(), "mine", RoleAdmin, 0)
	wantCode(t, "a root that may not be written", err, host.Denied)
	if !strings.Contains(err.Error(), `may not create /jobs.wasmjobd. Let a user who may write to / create it once`) {
		t.Error(err)
	}
	newToken(t, owner, "theirs", RoleAdmin, 0)
	if got := breaks(owner); got != "" {
		t.Errorf("all of it is theirs, and doctor says %s", got)
	}
	_, _, err = you.CreateToken(t.Context(), "mine", RoleAdmin, 0)
	wantCode(t, "a state of somebody else", err, host.Denied)
	put(t, owner, registry.Create, "/jobs", "")
	wantCode(t, "doctor of somebody else", func() error { _, err := you.Doctor(t.Context(), host.Options{}); return err }(), host.Denied)
}
