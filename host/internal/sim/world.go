package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

const jobName = "sim"

// World is one simulated cluster.
type World struct {
	seed  uint64
	rng   *rand.Rand
	now   int64 // virtual microseconds
	queue events
	seq   int64
	trace io.Writer // nil: nobody reads

	server
	sessions int64
	live     []*session
	members  []*member
	job      layout.Job
	options  protocol.Options
	ledger   *ledger

	timeout  int64 // of sessions
	slow     float64
	slowJobs float64
	config   layout.Config21
	faults   faults
	calm     bool
	noTicks  bool
	asks     int64

	steps, guestsRun, conflicts int64
	committed                   map[string]int64
	breaches                    []Breach
}

// Breach is a broken invariant.
type Breach struct {
	Invariant string
	Text      string
	At        int64 // virtual microseconds
}

func (b Breach) String() string {
	return fmt.Sprintf("%s at %.6f s: %s", b.Invariant, float64(b.At)/1e6, b.Text)
}

// Result of one seed.
type Result struct {
	Seed          uint64
	Steps, Guests int64
	Conflicts     int64
	Refused       int64            // writes of guests that the sink refused by their token
	Committed     map[string]int64 // by mutation
	Breach        *Breach          // the first one; nil: none
}

// Run simulates one seed. With trace, everything that happens is written there.
func Run(seed uint64, trace io.Writer) Result {
	w := newWorld(seed, trace)
	w.setup()
	w.disturb()
	end := w.plan()
	for len(w.queue) > 0 && !w.broken() && w.now < end {
		e := w.pop()
		w.now = e.at
		e.do()
	}
	if !w.broken() {
		w.ledger.settled()
	}
	r := Result{Seed: seed, Steps: w.steps, Guests: w.guestsRun, Conflicts: w.conflicts, Refused: w.ledger.refusedWrites, Committed: w.committed}
	if w.broken() {
		r.Breach = &w.breaches[0]
		w.tracef("BREACH %s", r.Breach)
		w.tracef("the tree: %s", w.ledger.summary())
	}
	return r
}

func newWorld(seed uint64, trace io.Writer) *World {
	w := &World{
		seed: seed, rng: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)), trace: trace,
		job:       layout.NewJob("ns", jobName),
		server:    server{tree: tree.New(), hist: map[string][]version{}},
		committed: map[string]int64{},
		now:       1_700_000_000 * second,
	}
	w.ledger = newLedger(w)
	w.timeout = w.between(4, 11) * second
	w.slow = []float64{0, 0.01, 0.05, 0.2}[w.rng.IntN(4)]
	w.slowJobs = []float64{0, 0.05, 0.3}[w.rng.IntN(3)]
	w.config = layout.Default21()
	c := &w.config
	c.JobName, c.JobClass, c.JobType = jobName, layout.WasmClass21, layout.Simple21
	c.ShardingTotalCount = int32(w.between(1, 9))
	c.Cron = cronOf(w.between(2, 9))
	c.Failover, c.Misfire, c.MonitorExecution = w.chance(0.8), w.chance(0.6), w.chance(0.7)
	c.JobShardingStrategyClass = []string{"", "odevity", "rotate"}[w.rng.IntN(3)]
	c.ReconcileIntervalMinutes = int32(w.rng.IntN(2))
	config, err := layout.EncodeConfig21(*c)
	if err != nil {
		panic(err) // the simulation's own settings
	}
	w.options = protocol.Options{
		Config: config, ReshardWait: w.between(500, 8000), PruneAfter: w.between(15_000, 60_000), MaxUnstored: 500,
		Slots: int(w.between(0, 4)), Queue: w.chance(0.3), Replace: w.chance(0.2),
	}
	return w
}

func cronOf(seconds int64) string { return fmt.Sprintf("0/%d * * * * ?", seconds) }

// setup makes what is there before the first member, and the members.
func (w *World) setup() {
	for _, p := range w.job.Namespace() {
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p}}, author{what: "namespace"})
	}
	root := w.job.Watched()[0]
	w.apply(nil, []registry.Op{{Kind: registry.Create, Path: root}}, author{what: "root"})
	w.ledger.unknown = []string{root + "/unknown", root + "/unknown/below", w.job.Namespace()[0] + "/other"}
	for _, p := range w.ledger.unknown {
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p, Data: []byte("theirs")}}, author{what: "somebody else"})
	}
	for k := range int(w.between(2, 6)) {
		m := &member{w: w, label: string(rune('A' + k)), ip: fmt.Sprintf("10.0.0.%d", 1+k/int(w.between(1, 3))), pid: int(w.between(1, 4)), offset: 0}
		if w.chance(0.5) {
			m.offset = w.between(-3000, 3000)
		}
		w.members = append(w.members, m)
		w.after(w.between(0, 3*second), m.start)
	}
}

func (w *World) pop() event { return heapPop(&w.queue) }

func (w *World) broken() bool { return len(w.breaches) > 0 }

func (w *World) breach(invariant, format string, args ...any) {
	w.breaches = append(w.breaches, Breach{Invariant: invariant, Text: fmt.Sprintf(format, args...), At: w.now})
}

func (w *World) ticking() bool { return !w.noTicks }

// plan lays out the calm after the faults, and says when the world ends.
func (w *World) plan() int64 {
	start := w.now
	calm := start + w.between(40, 120)*second
	w.at(calm, w.heal)
	quiet := calm + 4*w.timeout + 70*second
	w.at(quiet, func() { w.noTicks = true; w.tracef("no more ticks") })
	return quiet + 45*second
}

// heal ends every disturbance.
func (w *World) heal() {
	w.tracef("calm")
	w.calm = true
	w.slow, w.slowJobs = 0, min(w.slowJobs, 0.05)
	for _, m := range w.members {
		m.thaw()
		switch {
		case !m.up:
			if m.life == 0 {
				continue // its first start is still to come
			}
			m.start()
		case m.s != nil && !m.s.connected:
			w.reconnect(m, m.s)
		}
	}
	w.enableAll()
	// Wishes of operators that were on their way are carried out even now.
	for k := int64(1); k <= 4; k++ {
		w.after(k*w.timeout/2, w.enableAll)
	}
}

// enableAll undoes what operators forbade.
func (w *World) enableAll() {
	v := w.ledger.v
	if v == nil {
		return
	}
	if v.Paused {
		w.tool(protocol.SetPaused{})
	}
	for i := range v.Items {
		if w.ledger.v.Items[i].Disabled {
			w.tool(protocol.DisableItem{Item: i})
		}
	}
	for _, s := range v.Servers {
		if s.Disabled {
			w.tool(protocol.DisableServer{IP: s.IP})
		}
	}
}

// tool writes as an operator's tool does, not being a member.
func (w *World) tool(m protocol.Mutation) {
	w.apply(nil, w.job.Encode(m, w.ledger.v), author{what: "tool " + describe(m)})
}

func (w *World) up() []*member {
	return slices.DeleteFunc(slices.Clone(w.members), func(m *member) bool { return !m.up || m.st == nil })
}
