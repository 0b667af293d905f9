package v21

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/servertree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// older is a dialect of layout 1 or 2.0 that cannot read a configuration.
type older struct {
	jobtree.Configurer
	jobtree.ConfigNodes
	jobtree.ByAddress

	added *jobtree.Added
}

func (older) Name() string             { return "" }
func (older) Root(registry.Node) error { return nil }
func (o older) Added() *jobtree.Added  { return o.added }

var olderDialects = []older{
	{ConfigNodes: jobtree.OneNode{}, added: jobtree.Adding(jobtree.Added{ByAddress: true})},
	{ConfigNodes: jobtree.KeyNodes{}, added: jobtree.Adding(jobtree.Added{ByAddress: true, Keys: []string{"cron"}, Offsets: true})},
}

const olderMember = job.InstanceID("10.0.0.1@-@1")

// olderMutations are mutations that together write everything that any of them may write.
func olderMutations() []protocol.Mutation {
	const me = olderMember
	run := protocol.Entry{Item: 0, Instant: 1, Begun: 1}
	begun := protocol.RunsData{Open: []protocol.Entry{run}}
	ended := protocol.RunsData{Rows: []protocol.Row{{Entry: run, Ended: 2}}}
	assignment := protocol.Assignment{Owners: []protocol.ID{me, me}, Total: 2}
	config := spelling.Text(jobtree.JoinKeys(map[string]string{"cron": "0 * * * * ?"}))
	pend := []protocol.Pending{{Item: 1, Entry: run}}
	return []protocol.Mutation{
		protocol.Setup{Definition: protocol.Definition{Config: config}}, protocol.Join{ID: me, Disabled: true}, protocol.SetServer{IP: me.IP()},
		protocol.PruneServers{IPs: []string{me.IP()}}, protocol.Contend{Latch: protocol.ElectionLatch}, protocol.Contend{Latch: protocol.FailoverLatch},
		protocol.Withdraw{Latch: protocol.ElectionLatch, Place: "_c_x"}, protocol.Elect{ID: me, Place: "_c_x"}, protocol.Abdicate{Self: me},
		protocol.MarkReshard{}, protocol.Reshard{Next: assignment, Remove: []int{1}}, protocol.Owners{Write: []int{0}, Remove: []int{1}, Last: true},
		protocol.ClearProcessing{}, protocol.Begin{Self: me, Own: begun, Begun: []int{0}, Monitor: true, Unmark: []int{0}, DeletePending: []int{0}, Ack: true, Next: 2}, protocol.Begin{Self: me, Own: begun, Begun: []int{0}, Monitor: true},
		protocol.Complete{Self: me, Own: ended, Items: []int{0}}, protocol.NextAttempt{Self: me}, protocol.Forget{Self: me}, protocol.RecordMissed{ID: me},
		protocol.Account{Self: me, Pend: pend, Next: &assignment}, protocol.MarkMisfire{Items: []int{0}},
		protocol.ClearMarks{Self: me, Running: []int{0}, Failover: []int{0}}, protocol.Reclaim{Self: me, Dead: me, Next: assignment, Pend: pend},
		protocol.Take{Self: me, Own: begun, Items: []int{0}, Monitor: true, Next: 2}, protocol.SetFires{Self: me}, protocol.Follow{},
		protocol.Drop{Self: me, Items: []int{0}}, protocol.Leave{Self: me, Next: assignment}, protocol.RequestTrigger{To: []protocol.ID{me}},
		protocol.SetPaused{}, protocol.DisableItem{Disabled: true}, protocol.DisableItem{}, protocol.DisableServer{IP: me.IP(), Disabled: true}, protocol.DisableServer{IP: me.IP()},
		protocol.PutConfig{Config: config}, protocol.Define{Definition: protocol.Definition{Config: config}}, protocol.Publish{Member: protocol.Join{ID: me}},
		protocol.Switch{}, protocol.PutBackfill{}, protocol.DropBackfill{}, protocol.Count{Self: me},
	}
}

// sharedMutations are only for jobs shared with members of ElasticJob, and jobs of these
// layouts are not shared.
var sharedMutations = []protocol.Mutation{
	protocol.Adopt{}, protocol.ReclaimForeign{}, protocol.RecordTaken{}, protocol.JoinRound{}, protocol.Release{}, protocol.DeleteOwners{},
}

// olderViews are a job without any node, one with items and a server but nothing below
// them, and one with every node.
func olderViews() []*protocol.View {
	const all = ^protocol.NodeSet(3) // without those of layout 3
	me := []protocol.ID{olderMember, olderMember}
	bare := &protocol.View{ByAddress: true, Config: &protocol.Config{Total: 2, MonitorExecution: true}, ConfigVersion: "0", Assignment: protocol.Assignment{Exists: true, Owners: me, Total: 2}}
	bare.Items = []protocol.Item{{Exists: true}, {Exists: true}}
	bare.Runs = []protocol.Runs{{ID: olderMember, RunsData: &protocol.RunsData{}}}
	bare.Instances = []protocol.Instance{{ID: olderMember, Owner: 1}}
	bare.Servers = []protocol.Server{{IP: olderMember.IP()}}
	none := *bare
	none.Items, none.Config, none.Instances, none.Servers = make([]protocol.Item, 2), nil, nil, nil
	full := *bare
	full.Leader, full.LeaderOwner, full.Exists, full.Nodes, full.ConfigVersion = olderMember, 1, true, all, "0 cron=0@1"
	full.Necessary, full.Processing, full.ProcessingOwner = true, true, 1
	full.Servers = []protocol.Server{{IP: olderMember.IP(), Nodes: ^protocol.NodeSet(0)}}
	full.Instances = []protocol.Instance{{ID: olderMember, Owner: 1, Request: 2}}
	full.Members = []protocol.Member{{ID: olderMember, Owner: 1}}
	full.Unanswered = []protocol.ID{"10.0.0.2@-@?"}
	it := protocol.Item{Exists: true, Owner: olderMember, Running: 1, Misfire: true, Disabled: true, Failover: olderMember, TakerSession: 1, Nodes: all}
	full.Items = []protocol.Item{it, it}
	return []*protocol.View{&none, bare, &full}
}

// writers lists, by the name of a node in servertree, the mutations that create or set it,
// and those that delete it.
type writers struct{ writes, ends map[string][]string }

func (w *writers) add(root, name string, ops []registry.Op) {
	for _, op := range ops {
		to := w.writes
		switch op.Kind {
		case registry.Check, registry.Absent:
			continue
		case registry.Delete:
			to = w.ends
		default:
		}
		if n, _, ok := servertree.NodeOf(strings.TrimPrefix(op.Path, root+"/")); ok && !slices.Contains(to[n.Name], name) {
			to[n.Name] = append(to[n.Name], name)
		}
	}
}

// olderWriters finds out which nodes of layouts 2.0 and 1 our mutations write.
func olderWriters() writers {
	w := writers{map[string][]string{}, map[string][]string{}}
	var j jobtree.Job
	for _, m := range olderMutations() {
		for _, d := range olderDialects {
			j = jobtree.New(d, "n", "j")
			for _, v := range olderViews() {
				w.add(j.Root(), names([]any{m}), j.Encode(m, v))
			}
		}
	}
	there := registry.Node{Exists: true, Data: []byte("x")}
	w.add(j.Root(), "a run of the item, with its state", append(j.SaveOffset(0, registry.Node{}, []byte("y")), j.SaveOffset(0, there, nil)...))
	w.add(j.Root(), "`job shutdown`", j.EndInstance(olderViews()[2], olderMember))
	return w
}

// olderNodes writes the part of the page about layouts 2.0 and 1.
func olderNodes(b *bytes.Buffer) {
	values := map[servertree.Value]string{
		servertree.Empty: "empty", servertree.Text: "text", servertree.State: "`" + servertree.Ready + "` or `" + servertree.RunsNow + "`",
		servertree.Items: "items, as in `0,1,2`", servertree.Number: "number", servertree.Millis: "ms since 1970", servertree.Addr: "address",
	}
	b.WriteString("\n## ElasticJob's in layouts 2.0 and 1\n\nA member is identified by its address there. The removal of a job and `job migrate` delete each node, and `job migrate --back`\n" +
		"creates them again.\n\n" +
		"| node in layouts 2.0 and 1 | layout | kind, if not persistent | value | what of ElasticJob writes it | what of ElasticJob deletes it | our mutations that write it | our mutations that delete it |\n|---|---|---|---|---|---|---|---|\n")
	ours := olderWriters()
	disabled, _, _ := servertree.NodeOf("execution/0/disabled")
	for _, n := range append(slices.Clone(servertree.Nodes), disabled) {
		kind := persistent
		if n.Ephemeral {
			kind = ephemeral
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", n.Name, cmp.Or(n.Only, "both"), kind, values[n.Value], n.By, n.Until,
			cmp.Or(strings.Join(ours.writes[n.Name], "; "), "-"), cmp.Or(strings.Join(ours.ends[n.Name], "; "), "-"))
	}
}

// TestOlderMutationsAreAll checks that each mutation is listed, so that the page has what
// it writes in layouts 2.0 and 1.
func TestOlderMutationsAreAll(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	for _, m := range slices.Concat(olderMutations(), sharedMutations) {
		asked[reflect.TypeOf(m).Name()] = true
	}
	found := mutationNames(t)
	for _, name := range found {
		if !asked[name] {
			t.Errorf("%s is not in olderMutations", name)
		}
	}
	if len(found) < 30 {
		t.Errorf("found only %v", found)
	}
}

func mutationNames(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../../protocol/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutationMethod.FindAllSubmatch(text, -1) {
			all = append(all, string(m[1]))
		}
	}
	return all
}

var mutationMethod = regexp.MustCompile(`(?m)^func \((\w+)\) mutation\(\)`)

func mutations(of ...any) []any { return of }

func names(of []any) string {
	var all []string
	for _, x := range of {
		if text, ok := x.(string); ok {
			all = append(all, text)
			continue
		}
		all = append(all, reflect.TypeOf(x).Name())
	}
	return strings.Join(all, "; ")
}
