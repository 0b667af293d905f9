package golden

import (
	"slices"
	"strconv"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// play is a recording replayed by members of ours, with its result.
type play struct {
	t       testing.TB
	rec     *recording
	scenes  []scene
	glances []glance
	// logs are the complete logs, one for each new job.
	logs [][]entry
	// operatorWrites counts operators' writes that were compared with ours.
	operatorWrites int
}

// simulated replays a recording on one tree in virtual time. Times are those of the
// recording, in ms since it began.
type simulated struct {
	*play
	*cluster
	t     testing.TB
	guest int64        // for clusters created from here on
	last  *registry.Op // the newest node that an operator created
}

// scene is one flow as replayed.
type scene struct {
	name          string
	before, after world
	log           []entry
}

// glance is one moment as replayed.
type glance struct {
	name string
	world
	versions map[node]int32
}

type scenario struct {
	file string
	// guest is the duration of a guest here, in ms: the recorded one, plus the delay with
	// which the recorded members began.
	guest int64
	act   func(*simulated)
}

var scenarios = []scenario{
	{"basic", 1600, basic},
	{"disable", 150, disable},
	{"totals", 150, totals},
	{"misfire", 4005, misfire},
	{"trigger", 1510, trigger},
	{"shutdown", 4200, shutdown},
	{"failover_one_ip", 5700, failover},
	{"once", 700, once},
}

func perform(t testing.TB, s scenario) *play {
	t.Helper()
	p := &simulated{play: &play{t: t, rec: record(t, s.file)}, t: t, guest: s.guest}
	p.anew(p.rec.Moments[0], 0)
	s.act(p)
	p.logs = append(p.logs, p.log)
	if len(p.faults) > 0 {
		t.Errorf("%s: %q", s.file, p.faults)
	}
	return p.play
}

// anew begins with an empty registry and the configuration of a moment. We encode its
// text, which must equal the recording to the last byte. A total other than 0 replaces
// that of the moment.
func (p *simulated) anew(m moment, total int32) {
	p.t.Helper()
	text := p.rec.config(p.t, m)
	c, err := v21.DecodeConfig([]byte(text))
	if err != nil {
		p.t.Fatal(err)
	}
	if total != 0 {
		c.ShardingTotalCount = total
	}
	data, err := v21.EncodeConfig(*c)
	if err != nil {
		p.t.Fatal(err)
	}
	if total == 0 && string(data) != text {
		p.t.Errorf("config is spelled\n%s\nby ElasticJob\n%s", data, text)
	}
	var now int64
	if p.cluster != nil {
		p.logs = append(p.logs, p.log)
		now = p.now
	}
	p.cluster = newCluster(p.t, p.rec, data, p.guest)
	p.now = now
}

// step is a function of the script for a time.
type step struct {
	at int64
	do func()
}

func (p *simulated) start(at int64, name string) step {
	return step{at, func() { p.cluster.start(name, p.rec.Outputs[name].Instance) }}
}

func (p *simulated) kill(at int64, name string) step {
	return step{at, func() { p.cluster.kill(name) }}
}

func (p *simulated) expire(at int64, name string) step {
	return step{at, func() { p.cluster.expire(name) }}
}

// terminate asks a member to leave, as the daemon does on SIGTERM.
func (p *simulated) terminate(at int64, name string) step {
	return step{at, func() {
		m := p.member(name)
		m.ticker++ // no more instants
		m.inbox = append(m.inbox, protocol.Asked{Ask: protocol.AskLeave{}})
	}}
}

func (p *simulated) glance(at int64, name string) step {
	return step{at, func() {
		m := p.rec.moment(p.t, name)
		g := glance{name: name, world: p.world(), versions: map[node]int32{}}
		for _, n := range m.Tree {
			if k, ok := nodeOf(p.top, n.Path); ok {
				g.versions[k] = p.tree.Get(n.Path).Stat.Version
			}
		}
		p.glances = append(p.glances, g)
	}}
}

// do runs steps and advances time, outside of any flow.
func (p *simulated) do(until int64, steps ...step) {
	p.t.Helper()
	for _, s := range steps {
		p.at(s.at, s.do)
	}
	p.until(until)
}

// flow replays a recorded flow: the given steps, and the writes of operators in it.
func (p *simulated) flow(name string, until int64, steps ...step) {
	p.t.Helper()
	f := p.rec.flow(p.t, name)
	s := scene{name: name, before: p.world()}
	from := len(p.log)
	for _, w := range f.Writes {
		if w.By == "tool" {
			p.at(w.T, func() { p.tool(w) })
		}
	}
	p.do(until, steps...)
	s.after, s.log = p.world(), slices.Clone(p.log[from:])
	p.scenes = append(p.scenes, s)
}

func (p *simulated) tool(w write) {
	op := registry.Op{Path: w.Path, Data: []byte(w.Data), Version: registry.AnyVersion}
	switch {
	case w.Op == "setData":
		op.Kind = registry.Set
	case w.Op == "delete":
		op.Kind = registry.Delete
	case w.Op == "create" && !w.Ephemeral:
		op.Kind = registry.Create
		p.last = &op
	default:
		p.t.Fatalf("an operator does not %s", w.Op)
	}
	p.spelled(w, op)
	if n, _ := nodeOf(p.top, w.Path); op.Kind == registry.Delete && n.kind == running && !p.tree.Get(w.Path).Exists {
		return // our leader wrote it
	}
	if _, err := p.write(nil, op); err != nil {
		p.t.Fatalf("operator at %d: %v", p.now, err)
	}
}

// spelled checks that a request with the same meaning, carried out by a member of ours, is
// the same write. Checks in its transaction are not compared.
func (p *simulated) spelled(w write, op registry.Op) {
	p.t.Helper()
	n, _ := nodeOf(p.top, w.Path)
	item, _ := strconv.Atoi(n.arg)
	var m protocol.Mutation
	switch n.kind {
	case "config":
		m = protocol.PutConfig{Config: spelling.Text([]byte(w.Data))}
	case serverOf("").kind:
		m = protocol.DisableServer{IP: n.arg, Disabled: w.Data != ""}
	case instanceOf("").kind:
		m = protocol.RequestTrigger{To: []protocol.ID{protocol.ID(n.arg)}}
	case ofItem("disabled", "").kind:
		m = protocol.DisableItem{Item: item, Disabled: w.Op == "create"}
	default:
		return
	}
	ops := slices.DeleteFunc(p.job.Encode(m, p.members[0].state.View()), func(o registry.Op) bool {
		_, compared := nodeOf(p.top, o.Path)
		return !compared || o.Kind == registry.Check
	})
	if len(ops) != 1 || ops[0].Kind != op.Kind || ops[0].Path != op.Path || string(ops[0].Data) != string(op.Data) {
		p.t.Errorf("operator at %d: %s is spelled %v, by ElasticJob's console %v", p.now, m.Name(), ops, op)
	}
	p.operatorWrites++
}

// takeBack removes the last node that the operator created. The recording shows that it
// is gone, but not the write.
func (p *simulated) takeBack(at int64) step {
	return step{at, func() { p.tool(write{Op: "delete", Path: p.last.Path}) }}
}

func basic(p *simulated) {
	p.flow("start of first instance", 10_240, p.start(9298, "m1"), p.glance(9954, "after start of 1 instance (before its first sharding)"))
	p.flow("start of second instance", 11_310, p.start(10_409, "m2"))
	p.flow("start of third instance", 12_240, p.start(11_380, "m3"), p.glance(11_973, "after start of 3 instances (before the first sharding)"))
	p.flow("first tick: sharding of 6 items over 3 instances, then execution", 21_790,
		p.glance(18_800, "right after the sharding transaction"),
		p.glance(19_918, "during execution (monitorExecution, all 6 items running)"),
		p.glance(21_785, "after completion"))
	p.flow("second tick: execution only (6 items, 3 instances)", 31_300)
	p.flow("3 s of idling between ticks", 34_300)
}

func disable(p *simulated) {
	p.do(10_000, p.start(2666, "m1"), p.start(5326, "m2"), p.start(8754, "m3"))
	p.flow("tick with item 1 disabled", 14_636, p.glance(14_152, "item 1 disabled, one tick later"))
	p.do(14_700, p.takeBack(14_640))
	p.flow("disabling a server and the next tick", 18_980,
		p.glance(15_353, "server 10.0.0.3 set DISABLED, before the next tick"),
		p.glance(18_416, "server 10.0.0.3 DISABLED, one tick later"))
	p.flow("enabling it again and the next tick", 22_600)
	p.first("m3")
	p.flow("disabling the leader's server and the next tick", 26_540,
		p.glance(26_418, "the leader's server (10.0.0.1) DISABLED, one tick later"))
}

func totals(p *simulated) {
	p.anew(p.rec.Moments[0], 6)
	p.do(6500, p.start(1439, "m1"), p.start(3037, "m2"), p.start(4219, "m3"))
	p.flow("change of total count to 9 and the next tick", 11_360,
		p.glance(7444, "total count set to 9, before the next tick"),
		p.glance(11_151, "total count 9, one tick later"))
	p.flow("change of total count to 4 and the next tick", 15_360,
		p.glance(12_009, "total count set to 4, before the next tick"),
		p.glance(15_199, "total count 4, one tick later"))
	p.flow("change of cron", 22_590)
}

func misfire(p *simulated) {
	p.do(790, p.start(700, "slow"))
	p.flow("overrunning job, misfire=true, 12 s", 13_750, p.glance(4400, "3.5 s into a 4 s run of a 3 s cron"))
	p.anew(p.rec.moment(p.t, "overrunning job, misfire=false"), 0)
	p.do(17_950, p.start(17_920, "slow_off"))
	p.flow("overrunning job, misfire=false, 12 s", 31_200, p.glance(30_959, "overrunning job, misfire=false"))
	m := p.rec.Moments[len(p.rec.Moments)-1] // an item runs on another member
	p.guest = 2
	p.anew(m, 0)
	p.do(41_400, p.start(37_037, "blocked"))
	p.flow("an item already running elsewhere", 48_700, p.glance(48_411, m.Name))
	p.do(48_900)
	p.flow("the running node goes away", 53_260)
}

func trigger(p *simulated) {
	p.do(2500, p.start(963, "m1"), p.start(1590, "m2"), p.start(2472, "m3"))
	p.flow("trigger of 1 instance(s)", 6690, p.glance(6526, "after trigger of 1 instance(s)"))
	p.flow("trigger of 3 instance(s)", 11_070, p.glance(10_968, "after trigger of 3 instance(s)"))
	p.flow("second trigger while the first one still runs (it is dropped)", 15_700)
}

func shutdown(p *simulated) {
	p.do(23_000, p.start(2451, "m1"), p.start(5091, "m2"), p.start(7184, "m3"))
	p.flow("SIGTERM of an idle non-leader, rc=143", 30_830, p.terminate(23_069, "m2"),
		p.glance(30_142, "7 s after SIGTERM of an idle non-leader (JVM hook, failover on)"))
	p.do(38_100)
	p.flow("SIGTERM of a non-leader during its execution", 49_200, p.terminate(38_151, "m3"),
		p.glance(49_087, "7 s after SIGTERM of a non-leader in execution"))
	p.flow("SIGTERM of the last (leader), rc=143", 53_300, p.terminate(49_416, "m1"),
		p.glance(50_084, "right after SIGTERM of the last one"),
		p.glance(53_148, "after clean shutdown of all"))
}

func failover(p *simulated) {
	p.do(15_000, p.start(2025, "m1"), p.start(4032, "m2"), p.start(5563, "m3"),
		p.glance(14_921, "all running, before the kill"))
	p.flow("SIGKILL of a non-leader during execution and failover of its items", 27_400, p.kill(15_097, "m2"), p.expire(16_964, "m2"),
		p.glance(18_192, "2 to 3 s after SIGKILL (session timeout 2 s), survivors still running their own items"),
		p.glance(27_378, "after failover"))
	p.flow("next tick (resharding to 2)", 33_600)
	p.do(40_700, p.glance(40_656, "idle with two, before killing the leader"))
	p.flow("SIGKILL of the idle leader", 51_800, p.kill(40_761, "m1"), p.expire(42_466, "m1"))
	p.do(52_000, p.glance(51_944, "after the idle leader's death"))
	// Six items on four threads took two rounds there.
	p.cluster.guest = 11_000
	p.do(58_870, p.glance(58_869, "after the next tick with one"))
}

func once(p *simulated) {
	p.listens = true
	p.do(5000, p.start(3800, "m1"), p.start(4400, "m2"))
	p.flow("first tick with the distributed-once listener", 11_700, p.glance(11_691, "after a run with the distributed-once listener"))
	p.flow("second tick with the distributed-once listener", 17_000)
	p.checkFires(p.events)
}

// checkFires checks that each listener was called once in each of two fires. There, two
// members called the first listener of the second fire.
func (p *play) checkFires(events []string) {
	p.t.Helper()
	if want := []string{"started", "completed", "started", "completed"}; !slices.Equal(events, want) {
		p.t.Errorf("called: %q, want %q", events, want)
	}
}
