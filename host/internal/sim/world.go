package sim

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

const jobName = "sim"

// World is one simulated cluster.
type World struct {
	seed  uint64
	rng   *draws
	extra *draws // draws of what only some worlds have
	now   int64  // virtual microseconds
	queue events
	seq   int64
	trace io.Writer // nil: no reader

	server
	sessions int64
	live     []*session
	members  []*member
	jvms     []*jvm // foreign members
	nodes    nodes
	tokens   int
	three    bool // the foreign members are of 3.0.4
	features
	containers []string
	job        layout.Layout
	records    spelling.Records // as decoded by all members and the ledger
	options    protocol.Options
	without    string // the rule that no member applies; "": all are applied
	ledger     *ledger
	clocks     clocks

	profile  profile
	timeout  int64 // of sessions
	slow     float64
	slowJobs float64
	config   v21.Config
	faults   faults
	calm     bool
	orderly  bool   // nothing fails any more, so requests must be fulfilled soon
	banned   string // a server that stays disabled in the end
	noTicks  bool
	quiet    int64 // when ticks end
	visiting bool
	asks     int64
	configs  int
	stray    string // the newest mark without a session
	squatted []int  // items with a foreign node below
	damaged  int    // nodes that are damaged now
	doomed   map[int]*member

	scribbled []int64 // revisions at which a tool wrote owners' nodes

	steps, guestsRun, conflicts int64
	committed                   map[string]int64
	breaches                    []Breach
	driver                      driver

	label      string    // before each line of the trace
	jobsBefore []*before // the jobs after which this one runs
	sameCron   bool      // the cron stays as it is
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
	Refused       int64            // writes of guests that the sink refused because of their token
	Exact         int64            // undisturbed instants
	Committed     map[string]int64 // by mutation
	Breach        *Breach          // the first one; nil: none
}

// Run simulates one seed and writes everything that happens to trace.
func Run(seed uint64, trace io.Writer) Result {
	return run(seed, profileOfSeed(seed), trace)
}

// RunIn is Run in a layout. Only layouts 2.1 and 3 have members of ElasticJob.
func RunIn(layout string, seed uint64, trace io.Writer) Result {
	if layout == job.Layout3 {
		return run(seed, ofSeed(profiles(), layout, seed), trace)
	}
	return runAlone(layout, seed, trace)
}

// runAlone is RunIn without members of ElasticJob.
func runAlone(layout string, seed uint64, trace io.Writer) Result {
	all := slices.DeleteFunc(profiles(), func(p profile) bool { return p.java[1] > 0 })
	return run(seed, ofSeed(all, layout, seed), trace)
}

// ofSeed selects a seed's profile, in a layout.
func ofSeed(all []profile, layout string, seed uint64) profile {
	p := all[seed%uint64(len(all))]
	p.layout = layout
	return p
}

// profileOfSeed selects a seed's profile among all.
func profileOfSeed(seed uint64) profile {
	all := profiles()
	return all[seed%uint64(len(all))]
}

// run simulates a seed in a profile.
func run(seed uint64, p profile, trace io.Writer) Result {
	return runDrawn(seed, drawn(seed), p, trace)
}

// runDrawn simulates a world whose random numbers come from d.
func runDrawn(seed uint64, d *draws, p profile, trace io.Writer) Result {
	return newWorld(seed, d, p, trace).playAtRandom()
}

// playAtRandom plays a world without a scenario.
func (w *World) playAtRandom() Result {
	w.setup()
	w.populate()
	w.disturb()
	w.disturbMore()
	return w.play()
}

// play runs the world to its end.
func (w *World) play() Result {
	defer w.stop()
	end := w.plan()
	for _, b := range w.jobsBefore {
		end = max(end, b.end+1)
	}
	for len(w.queue) > 0 && !w.broken() && w.now < end {
		w.playBefore(w.queue[0].at)
		e := w.queue.pop()
		w.now = e.at
		e.do()
	}
	if !w.broken() && !w.profile.busy {
		w.settledBefore()
		w.ledger.settled()
	}
	r := Result{Seed: w.seed, Steps: w.steps, Guests: w.guestsRun, Conflicts: w.conflicts, Refused: w.ledger.refusedWrites, Exact: int64(w.ledger.checkedInstants), Committed: w.committed}
	if w.broken() {
		r.Breach = &w.breaches[0]
		w.tracef("BREACH %s", r.Breach)
		w.tracef("the tree: %s", w.ledger.summary())
	}
	return r
}

// newWorld creates a world without nodes or members, and draws its settings.
func newWorld(seed uint64, d *draws, p profile, trace io.Writer) *World {
	w := &World{
		seed: seed, rng: d, extra: d.aside(seed, ""), trace: trace,
		job: layout.New(cmp.Or(p.layout, job.Layout21), "ns", jobName), records: spelling.Records{},
		server:    server{tree: tree.New(), hist: map[string][]version{}},
		committed: map[string]int64{}, doomed: map[int]*member{},
		now: startTime * second,
	}
	w.nodes = nodesOf(w.job)
	w.three = p.layout == job.Layout3
	w.ledger = newLedger(w)
	w.ledger.draws = d.aside(seed+askedSeed, "")
	w.settle(p)
	return w
}

// setup creates the nodes that exist before the first member.
func (w *World) setup() {
	for _, p := range w.job.Namespace() {
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p}}, origin{what: "namespace"})
	}
	root := w.job.Root()
	w.apply(nil, []registry.Op{{Kind: registry.Create, Path: root}}, origin{what: "root"})
	w.ledger.unknown = []string{root + "/unknown", root + "/unknown/below", w.job.Namespace()[0] + "/other"}
	for _, p := range w.ledger.unknown {
		w.apply(nil, []registry.Op{{Kind: registry.Create, Path: p, Data: []byte("theirs")}}, origin{what: "somebody else"})
	}
}

// populate creates the members.
func (w *World) populate() {
	per := int(w.between(1, 3)) // members per server
	if w.profile.byAddress() {
		per = 1
	}
	for k := range int(w.between(w.profile.members[0], w.profile.members[1])) {
		m := &member{w: w, label: string(rune('A' + k)), ip: fmt.Sprintf("10.0.0.%d", 1+k/per), pid: int(w.between(1, 4)), timeout: max(w.timeout/[]int64{1, 1, 2, 4}[w.rng.IntN(4)], 250*millisecond)}
		if w.chance(0.5) {
			m.offset = w.between(-w.profile.skew, w.profile.skew+1)
		}
		if w.switches {
			m.admitted.file = w.fileOf(k + 1)
		}
		w.members = append(w.members, m)
		w.after(w.profile.late21*second+w.between(0, 3*second), m.start)
	}
	w.neighbours()
}

// stop ends the threads of the foreign processes.
func (w *World) stop() {
	for _, j := range w.jvms {
		if j.up {
			j.exit()
		}
	}
}

// broken reports whether an invariant is broken.
func (w *World) broken() bool { return len(w.breaches) > 0 }

// breach records that an invariant is broken, which ends the world.
func (w *World) breach(invariant, format string, args ...any) {
	w.breaches = append(w.breaches, Breach{Invariant: invariant, Text: fmt.Sprintf(format, args...), At: w.now})
}

// ticking reports whether instants still come.
func (w *World) ticking() bool { return !w.noTicks }
