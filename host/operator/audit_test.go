package operator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/javatest"
	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// audited returns the selected rows as text, the oldest first.
func audited(t *testing.T, o *Operator, f AuditFilter) []string {
	t.Helper()
	rows, err := o.Audit(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, r := range slices.Backward(rows) {
		if r.At.IsZero() || r.Fault != "" {
			t.Errorf("row %+v", r)
		}
		all = append(all, strings.Trim(strings.Join([]string{r.Name, r.Verb, r.Job, r.Detail, r.Before, r.After}, "|"), "|"))
	}
	return all
}

// Each write has a row, and a request that wrote nothing has none.
func TestAuditHasEachWrite(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	ctx, name := t.Context(), javatest.Name
	javatest.Write(t, o.session, javatest.Config(nil))
	if rows := audited(t, o, AuditFilter{}); rows != nil {
		t.Errorf("before anything: %v", rows)
	}
	o.As(Author{Name: "ann", Way: ByToken, Role: RoleOperator, Request: "r1"})
	for what, err := range map[string]error{
		"disable": o.SetServer(ctx, name, "10.0.0.1", true), "again": o.SetServer(ctx, name, "10.0.0.1", true),
		"enable": o.SetServer(ctx, name, "10.0.0.1", false), "reshard": o.Reshard(ctx, name),
	} {
		if err != nil {
			t.Error(what, err)
		}
	}
	o.As(Author{Name: "bob", Way: BySocket})
	if err := o.SetItem(ctx, name, 99, true); err == nil {
		t.Error("there is no item 99")
	}
	if err := o.Trigger(ctx, name); err != nil {
		t.Error(err)
	}
	got := audited(t, o, AuditFilter{})
	slices.Sort(got)
	want := []string{
		"ann|job disable|" + name + "|server=10.0.0.1|enabled|disabled", "ann|job enable|" + name + "|server=10.0.0.1|disabled|enabled",
		"ann|job reshard|" + name, "bob|job trigger|" + name,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	for _, f := range []AuditFilter{{Who: "bob"}, {Verb: "job trigger"}, {Limit: 1}} {
		if got := audited(t, o, f); len(got) != 1 || !strings.HasPrefix(got[0], "bob") {
			t.Errorf("%+v: %v", f, got)
		}
	}
	for f, want := range map[AuditFilter]int{{Verb: "job"}: 4, {Verb: "jo"}: 0, {Job: name}: 4, {Job: "other"}: 0, {Since: time.Now().Add(time.Hour)}: 0, {Limit: 2}: 2} {
		if got := audited(t, o, f); len(got) != want {
			t.Errorf("%+v: %v, want %d", f, got, want)
		}
	}
	if err := o.Remove(ctx, name, true); err != nil {
		t.Error(err)
	}
	if got := audited(t, o, AuditFilter{Verb: "job remove"}); len(got) != 1 {
		t.Error(got)
	}
}

// The audit keeps the newest rows, and a damaged one does not hide the others.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	o := operate(t, reg)
	o.As(Author{Name: "ann"})
	for i := range clustertree.MaxRows + 3*trimEvery {
		if err := o.commit(t.Context(), deed{verb: "test", detail: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := o.Node(t.Context(), o.tree.Audit())
	if n := len(dir.Children); err != nil || n < clustertree.MaxRows || n > clustertree.MaxRows+trimEvery {
		t.Errorf("%d rows, %v", n, err)
	}
	put(t, o, registry.Set, o.tree.Row(dir.Children[len(dir.Children)-2]), "\x1b[2J")
	rows, err := o.Audit(t.Context(), AuditFilter{Limit: 3})
	if err != nil || len(rows) != 3 || rows[0].Detail != fmt.Sprint(clustertree.MaxRows+3*trimEvery-1) || rows[1].Fault == "" || rows[2].Detail == "" || strings.Contains(rows[1].Fault, "\x1b") {
		t.Errorf("%+v, %v", rows, err)
	}
	if err := errors.Join(o.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
	wantCode(t, "a limit below none", func() error { _, err := o.Audit(t.Context(), AuditFilter{Limit: -1}); return err }(), host.Invalid)
}

// deniesTree is a session whose user may write only below the namespace.
type deniesTree struct{ registry.Session }

// A verb whose audit row cannot be written changes nothing, and its error says what to do.
func TestNothingIsDoneWithoutItsRow(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	javatest.Write(t, o.session, javatest.Config(nil))
	o.session = deniesTree{o.session}
	err := o.SetServer(t.Context(), javatest.Name, "10.0.0.1", true)
	wantCode(t, "disable", err, host.Denied)
	if err == nil || !strings.Contains(err.Error(), "nothing was changed") || !strings.Contains(err.Error(), "/jobs.wasmjobd") {
		t.Error(err)
	}
	v, _, err := o.jobView(t.Context(), javatest.Name)
	if err != nil || v.Servers[0].Disabled {
		t.Error("the server is disabled", err)
	}
}

// The cluster's state appears neither in lists of jobs nor in lists of servers, even if the
// namespace is nested in another one.
func TestStateOfTheClusterIsNoJob(t *testing.T) {
	t.Parallel()
	reg := embedded.Memory()
	inner, err := Open(t.Context(), reg, "jobs/inner")
	if err != nil {
		t.Fatal(err)
	}
	outer := operate(t, reg)
	for _, o := range []*Operator{inner, outer} {
		if err := o.commit(t.Context(), deed{verb: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, outer, registry.Create, "/jobs/inner", "")
	for _, o := range []*Operator{inner, outer} {
		names, err := o.Names(t.Context())
		if err != nil || slices.ContainsFunc(names, clustertree.Reserved) {
			t.Errorf("%v, %v", names, err)
		}
		if jobs, err := o.Jobs(t.Context()); err != nil || len(jobs) != 0 {
			t.Errorf("%v, %v", jobs, err)
		}
	}
	root, err := outer.Node(t.Context(), "/")
	if want := []string{"jobs", "jobs.wasmjobd"}; err != nil || !slices.Equal(root.Children, want) {
		t.Errorf("%v, %v", root.Children, err)
	}
	if n, err := outer.Node(t.Context(), "/jobs"); err != nil || !slices.Equal(n.Children, []string{"inner", "inner.wasmjobd"}) {
		t.Errorf("%v, %v", n.Children, err)
	}
	if err := errors.Join(inner.Close(), outer.Close(), reg.Close()); err != nil {
		t.Error(err)
	}
}

// Commit implements registry.Session.
func (s deniesTree) Commit(ctx context.Context, ops ...registry.Op) (registry.Receipt, error) {
	for _, op := range ops {
		if !registry.Within(op.Path, "/jobs") {
			return registry.Receipt{}, fmt.Errorf("%w: %s", registry.ErrDenied, op.Path)
		}
	}
	return s.Session.Commit(ctx, ops...)
}
