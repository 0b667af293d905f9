package admin

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// disk is the data of a server that a verb may delete.
type disk struct {
	mu      sync.Mutex
	held    []host.HeldModule // guarded by mu
	aged    int64             // old rows of its history; guarded by mu
	asked   []Purge           // guarded by mu
	jobs    []job.Config      // of its file
	purgeBy func()            // before rows go; nil: nothing

	checked []trace.Row                          // by others
	checkBy func(context.Context, RowsElsewhere) // instead of a check; nil: nothing
}

// check reads the rows of other servers and keeps them.
func (d *disk) check(ctx context.Context, want CheckWanted, _ InForce, others RowsElsewhere) ([]Checked, error) {
	if d.checkBy != nil {
		d.checkBy(ctx, others)
		return nil, nil
	}
	from, to := int64(math.MinInt64), int64(math.MaxInt64-1)
	if want.From != nil {
		from = *want.From
	}
	if want.To != nil {
		to = *want.To
	}
	d.checked = others(ctx, want.Job, from, to)
	return []Checked{{Job: want.Job, Report: trace.Report{Rows: int64(len(d.checked))}}}, nil
}

// options returns the options for doctor.
func (d *disk) options() (host.Options, error) { return host.Options{Jobs: d.jobs}, nil }

func (d *disk) prune(_ time.Time, dry bool, used func() (map[string]bool, error)) (gone []host.HeldModule, err error) {
	needed, err := used()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.held {
		if !needed[h.Digest] {
			gone = append(gone, h)
		}
	}
	if !dry {
		d.held = slices.DeleteFunc(d.held, func(h host.HeldModule) bool { return !needed[h.Digest] })
	}
	return gone, nil
}

func (d *disk) purge(_ context.Context, p Purge) (int64, error) {
	if d.purgeBy != nil {
		d.purgeBy()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, p)
	rows := d.aged
	if !p.Dry {
		d.aged = 0
	}
	return rows, nil
}

func (d *disk) list() ([]host.HeldModule, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.held), nil
}

// defined parses a job.
func defined(text operator.JobText) (job.Config, error) {
	return job.Config{
		Name: text.Name, Kind: job.Simple, Shards: 1, Module: "m", ModuleDigest: text.Digest, Layout: job.Layout21, MaxClockSkew: -1,
		Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss,
	}, nil
}

func (d *disk) has() (modules int, rows int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.held), d.aged
}

// stocked returns three servers of a cluster, each with an unused module and old rows, and clients of the first
// one by role.
func stocked(t *testing.T) (all []*peerServer, as func(operator.Role) *Client) {
	t.Helper()
	return stockedAt(t, "127.0.0.1")
}

// stockedAt is stocked with the address of the first one. The job has a member at 127.0.0.1.
func stockedAt(t *testing.T, first string) (all []*peerServer, as func(operator.Role) *Client) {
	t.Helper()
	s := start(t, "report")
	for i, ip := range []string{first, "10.0.0.2", "10.0.0.3"} {
		one := startPeer(t, s.registry, ip, TLS{})
		one.disk.held, one.disk.aged = []host.HeldModule{{Digest: digestOf(ip), Size: int64(i + 1)}}, int64(10*i+10)
		all = append(all, one)
	}
	tokens := map[operator.Role]string{}
	for _, role := range operator.Roles() {
		tokens[role] = all[0].token(t, "a-"+string(role), role, 0)
		acquaint(t, tokens[role], all...)
	}
	return all, func(role operator.Role) *Client { return all[0].client(t, tokens[role], "") }
}

// answering reports whether no server that can be asked is named.
func answering(unread []string) bool {
	return !slices.ContainsFunc(unread, func(one string) bool { return strings.Contains(one, "http") })
}

// A prune covers all servers, with the role that it needs, unless it is limited to one.
func TestPruneOfAllServers(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	for _, role := range []operator.Role{operator.RoleViewer, operator.RoleOperator} {
		_, err := as(role).PruneModules(t.Context(), operator.Prune{})
		wantCode(t, "a prune of an "+string(role), err, host.Denied, "does not allow this")
	}
	c := as(operator.RolePublisher)
	report, err := c.PruneModules(t.Context(), operator.Prune{DryRun: true})
	if err != nil || len(report.Removed) != 1 || len(report.Others) != 2 || report.Others[0].Server == report.Others[1].Server || !answering(report.Unread) {
		t.Fatalf("%+v, %v", report, err)
	}
	if report, err = c.PruneModules(t.Context(), operator.Prune{}); err != nil || len(report.Removed) != 1 || len(report.Others) != 2 || report.Others[0].Bytes+report.Others[1].Bytes != 5 {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, one := range all {
		if modules, _ := one.disk.has(); modules != 0 {
			t.Errorf("server %d has %d", i, modules)
		}
	}
	rows, err := all[0].op.Audit(t.Context(), operator.AuditFilter{Verb: "module prune"})
	if err != nil || len(rows) != 3 {
		t.Errorf("the audit has %+v, %v", rows, err)
	}
	for _, r := range rows {
		if r.Name != "a-publisher" || r.Role != operator.RolePublisher {
			t.Errorf("%+v", r)
		}
	}
}

// While a server is silent, nothing is removed on any server, except by a prune of one server.
func TestPruneWhileAServerIsSilent(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	all[2].stop()
	c := as(operator.RolePublisher)
	_, err := c.PruneModules(t.Context(), operator.Prune{})
	wantCode(t, "a server is silent", err, host.Refused, all[2].at)
	for i, one := range all {
		if modules, _ := one.disk.has(); modules != 1 {
			t.Errorf("server %d has %d", i, modules)
		}
	}
	if report, err := c.PruneModules(t.Context(), operator.Prune{DryRun: true}); err != nil || len(report.Others) != 1 || answering(report.Unread) {
		t.Errorf("a dry run: %+v, %v", report, err)
	}
	if report, err := c.PruneModules(t.Context(), operator.Prune{Here: true}); err != nil || len(report.Removed) != 1 || len(report.Others) != 0 {
		t.Errorf("here: %+v, %v", report, err)
	}
	if modules, _ := all[1].disk.has(); modules != 1 {
		t.Error("the other one has lost its module")
	}
}

// A server that only a job knows is named, and does not prevent a prune of the others.
func TestPruneWhileAServerCannotBeAsked(t *testing.T) {
	t.Parallel()
	all, as := stockedAt(t, "10.0.0.1")
	report, err := as(operator.RolePublisher).PruneModules(t.Context(), operator.Prune{})
	if err != nil || len(report.Removed) != 1 || len(report.Others) != 2 || len(report.Unread) != 1 || !strings.Contains(report.Unread[0], "no [admin] listen") {
		t.Errorf("%+v, %v", report, err)
	}
	for i, one := range all {
		if modules, _ := one.disk.has(); modules != 0 {
			t.Errorf("server %d has %d", i, modules)
		}
	}
}

// A purge covers all histories, names silent servers, and passes on exactly the requested limits.
func TestPurgeOfAllServers(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	want := Purge{Job: "report", Age: time.Hour, PerJob: 3, Bytes: 4}
	_, err := as(operator.RolePublisher).PurgeHistory(t.Context(), want)
	wantCode(t, "a purge of a publisher", err, host.Denied, "does not allow this")
	c := as(operator.RoleAdmin)
	want.Dry = true
	if done, err := c.PurgeHistory(t.Context(), want); err != nil || done.Rows != 60 || len(done.Others) != 2 || !answering(done.Unread) {
		t.Errorf("a dry run: %+v, %v", done, err)
	}
	want.Dry, want.Here = false, true
	if done, err := c.PurgeHistory(t.Context(), want); err != nil || done.Rows != 10 || len(done.Others) != 0 {
		t.Errorf("here: %+v, %v", done, err)
	}
	all[2].stop()
	want.Here = false
	done, err := c.PurgeHistory(t.Context(), want)
	if err != nil || done.Rows != 20 || len(done.Others) != 1 || done.Others[0] != (PurgedAt{all[1].at, 20}) || answering(done.Unread) {
		t.Errorf("%+v, %v", done, err)
	}
	if _, rows := all[2].disk.has(); rows != 30 {
		t.Errorf("the silent server has %d rows", rows)
	}
	want.Here = true
	if asked := all[1].disk.asked; len(asked) != 2 || asked[1] != want {
		t.Errorf("the other server was asked for %+v, want %+v", asked, want)
	}
}

// A purge has its audit row before the other servers are asked, which may take long.
func TestPurgeIsAuditedBeforeOthersAreAsked(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	all[2].stop()
	var rows []operator.AuditRow
	var err error
	all[1].disk.purgeBy = func() { rows, err = all[0].op.Audit(t.Context(), operator.AuditFilter{Verb: "history purge"}) }
	if _, err := as(operator.RoleAdmin).PurgeHistory(t.Context(), Purge{Age: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if err != nil || len(rows) != 1 || rows[0].Way != operator.ByToken || !strings.Contains(rows[0].Detail, "rows=10") {
		t.Errorf("while another one was asked the audit had %+v, %v", rows, err)
	}
}

// A new job has a warning unless a server has its module: this one, or another that answers.
func TestNewJobWhoseModuleNobodyHas(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	c := as(operator.RoleAdmin)
	create := func(name, digest string) string {
		t.Helper()
		warning, err := c.CreateJob(t.Context(), operator.JobText{Name: name, TOML: "x", Digest: digest}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return warning
	}
	if warning := create("here", digestOf("127.0.0.1")); warning != "" {
		t.Errorf("this server has it: %s", warning)
	}
	if warning := create("there", digestOf("10.0.0.3")); warning != "" {
		t.Errorf("another server has it: %s", warning)
	}
	nobody := digestOf("nobody")
	if warning := create("nowhere", nobody); !strings.Contains(warning, nobody) || !answering([]string{warning}) {
		t.Errorf("nobody has it: %q", warning)
	}
	var dry dryDocument
	if err := c.read(t.Context(), "POST", jobsPath+"?dry_run=true", operator.JobText{Name: "dry", TOML: "x", Digest: nobody}, &dry); err != nil || len(dry.Changes) != 1 || !strings.Contains(dry.Changes[0].Warning, nobody) {
		t.Errorf("a dry run: %+v, %v", dry, err)
	}
	all[2].stop()
	if warning := create("unknown", digestOf("10.0.0.3")); !strings.Contains(warning, all[2].at) {
		t.Errorf("who has it is silent: %q", warning)
	}
}

// A check reads the rows of all servers page by page: those in its time, and gaps that reach into it.
func TestCheckOfAllServers(t *testing.T) {
	t.Parallel()
	all, as := stocked(t)
	const many = maxPage + 2
	for i := range int64(many) {
		all[1].rows = append(all[1].rows, rowAt(10_000-i, 0, 1, trace.Succeeded, "its log"))
	}
	gap := rowAt(500, 1, 0, trace.Missed, "")
	gap.Last, gap.Count = 9_500, 3
	over := rowAt(400, 1, 0, trace.Missed, "")
	over.Last, over.Count = 450, 2
	all[2].rows = []trace.Row{rowAt(9_700, 1, 1, trace.Failed, ""), gap, over}
	c, from, to := as(operator.RoleViewer), int64(9_000), int64(9_999)
	found, unread, err := c.CheckHistory(t.Context(), CheckWanted{Job: "report", From: &from, To: &to})
	rows := all[0].disk.checked
	if err != nil || !answering(unread) || len(found) != 1 || len(rows) != 999+2 || rows[0].Instant != 500 || rows[len(rows)-1].Instant != 9_999 {
		t.Fatalf("%+v, %v, %v; %d rows", found, unread, err, len(rows))
	}
	if rows[1].Log != "" || !slices.IsSortedFunc(rows, func(a, b trace.Row) int { return trace.PlaceOf(&a).Compare(trace.PlaceOf(&b)) }) {
		t.Error("they are not what a check takes")
	}
	if _, _, err = c.CheckHistory(t.Context(), CheckWanted{Job: "report"}); err != nil || len(all[0].disk.checked) != many+3 {
		t.Errorf("without an end: %d rows, %v", len(all[0].disk.checked), err)
	}
	all[0].h.mostRows = many
	found, unread, err = c.CheckHistory(t.Context(), CheckWanted{Job: "report"})
	if err != nil || len(found) != 1 || len(unread) == 0 || !strings.Contains(unread[0], "check a shorter time") || len(all[0].disk.checked) > many {
		t.Errorf("too many rows: %+v, %v, %v", found, unread, err)
	}
	all[1].stop()
	if _, unread, err = c.CheckHistory(t.Context(), CheckWanted{Job: "report"}); err != nil || len(unread) != 1 || !strings.Contains(unread[0], all[1].at) || len(all[0].disk.checked) != 3 {
		t.Errorf("%v, %v, %d rows", unread, err, len(all[0].disk.checked))
	}
}
