package sim

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// profile is the distribution of faults and settings of a world. One profile alone misses
// cases: faults between a failover and the next instant need short sessions and long
// runs, and faults on an old view need replicas that stall.
type profile struct {
	name     string
	layout   string   // "": 2.1
	members  [2]int64 // ranges, the upper end excluded
	items    [2]int64
	timeout  [2]int64  // of sessions, ms
	period   [2]int64  // of the schedule, s
	trouble  [2]int64  // time with faults, s
	every    [2]int64  // mean time between two faults, ms
	restart  int64     // longest absence of a crashed process, ms
	slow     []float64 // shares of transactions that replicas see late; one is drawn
	slowJobs []float64 // shares of slow runs; one is drawn
	long     [2]int64  // duration of a slow run, ms
	late     float64   // share of lost requests that are applied after all
	beyond   float64   // share of those that are applied later than ZooKeeper would
	untimely float64   // share of the sessions that end just before an instant
	wait     [2]int64  // for a reshard, ms
	holds    float64   // share of the reclaims after which a pause delays the takes
	monitor  float64   // share of the jobs with monitorExecution
	skew     int64     // largest error of a clock, ms
	deaths   float64   // share of the runs whose server crashes
	injects  float64   // share of rare transactions that meet an injected fault
	races    float64   // share of transactions about pending runs that provoke a race
	slots    []int
	java     [2]int64 // members of ElasticJob
	late21   int64    // by how many s our members start later
	away     bool     // foreign members leave for good
	busy     bool     // load goes on to the end
	catchUp  bool     // sometimes there is no member, and missed instants begin late
	faults   faults
}

// byAddress reports whether an address has one member at most.
func (p *profile) byAddress() bool { return p.layout == job.Layout20 || p.layout == job.Layout1 }

// profiles are the distributions, one of which a seed selects. Each of them makes often
// what is rare in the others: pending runs (orphans), old views (stale), requests of
// operators (commands), or takers that meet the owner of the item (duel).
func profiles() []profile {
	return []profile{
		{
			name: "mixed", members: [2]int64{2, 6}, items: [2]int64{1, 9}, timeout: [2]int64{4000, 11_000}, period: [2]int64{2, 9},
			trouble: [2]int64{40, 100}, every: [2]int64{700, 9000}, restart: 25_000,
			slow: []float64{0, 0.01, 0.05, 0.2}, slowJobs: []float64{0, 0.05, 0.3}, late: 0.3, monitor: 0.7,
			long:     [2]int64{1000, 12_000},
			untimely: 0.1,
			holds:    0.05,
			skew:     3000,
			deaths:   0.01,
			injects:  0.02, slots: []int{0, 1, 2, 3},
			races:  0.05,
			wait:   [2]int64{300, 8000},
			faults: faults{crash: 1, freeze: 1, cut: 2, stall: 1, clock: 0.3, operator: 1.2, ask: 1.2},
		},
		{
			name: "orphans", members: [2]int64{2, 6}, items: [2]int64{1, 7}, timeout: [2]int64{400, 1200}, period: [2]int64{3, 9},
			trouble: [2]int64{30, 60}, every: [2]int64{200, 1500}, restart: 2000,
			slow: []float64{0.01, 0.1}, slowJobs: []float64{0.8}, late: 0.3, monitor: 0.4,
			long:     [2]int64{300, 4000},
			untimely: 0.3,
			holds:    0.4,
			skew:     200,
			deaths:   0.3,
			injects:  0.15, slots: []int{0, 1, 1, 1},
			races:  0.3,
			wait:   [2]int64{300, 3000},
			beyond: 0.2,
			faults: faults{crash: 1, freeze: 0.5, cut: 1, stall: 2, clock: 0.3, operator: 1.5, ask: 0.5},
		},
		{
			name: "stale", members: [2]int64{2, 5}, items: [2]int64{1, 5}, timeout: [2]int64{1000, 4000}, period: [2]int64{1, 5},
			trouble: [2]int64{20, 50}, every: [2]int64{200, 1500}, restart: 6000,
			slow: []float64{0.05, 0.2}, slowJobs: []float64{0.05, 0.4}, late: 0.8, monitor: 0.4,
			long:     [2]int64{1000, 12_000},
			untimely: 0.3,
			holds:    0.1,
			skew:     1500,
			deaths:   0.05,
			injects:  0.15, slots: []int{0, 1, 3},
			races:  0.2,
			wait:   [2]int64{300, 8000},
			beyond: 0.3,
			faults: faults{crash: 0.8, freeze: 1, cut: 3, stall: 5, clock: 0.3, operator: 2, ask: 1},
		},
		{
			name: "commands", members: [2]int64{2, 5}, items: [2]int64{1, 6}, timeout: [2]int64{2000, 6000}, period: [2]int64{1, 6},
			trouble: [2]int64{20, 50}, every: [2]int64{200, 1500}, restart: 8000,
			slow: []float64{0, 0.05}, slowJobs: []float64{0.1, 0.5}, late: 0.3, monitor: 0.6,
			long:     [2]int64{1000, 8000},
			untimely: 0.1,
			holds:    0.1,
			skew:     3000,
			deaths:   0.03,
			injects:  0.08, slots: []int{0, 1, 3},
			races:  0.05,
			wait:   [2]int64{300, 8000},
			faults: faults{crash: 1.5, freeze: 0.3, cut: 1, stall: 0.5, clock: 0.3, operator: 6, ask: 4},
		},
		{
			name: "duel", members: [2]int64{4, 6}, items: [2]int64{5, 11}, timeout: [2]int64{500, 1800}, period: [2]int64{4, 9},
			trouble: [2]int64{30, 50}, every: [2]int64{500, 3000}, restart: 1500,
			slow: []float64{0.02, 0.15}, slowJobs: []float64{0.9}, long: [2]int64{500, 6000}, late: 0.5,
			untimely: 0.1, monitor: 0.1, holds: 0.6, skew: 100, deaths: 0.15, injects: 0.15, slots: []int{1},
			races:  0.5,
			wait:   [2]int64{100, 800},
			faults: faults{crash: 0.1, freeze: 0.3, cut: 1, stall: 4, clock: 0.3, operator: 0.3, ask: 0.3},
		},
		sharedJob(), migration(),
	}
}

// sharedJob is a job shared with foreign members.
func sharedJob() profile {
	return profile{
		name: "beside", members: [2]int64{1, 4}, java: [2]int64{1, 4}, items: [2]int64{1, 9}, timeout: [2]int64{1000, 4000}, period: [2]int64{1, 4},
		trouble: [2]int64{15, 35}, every: [2]int64{500, 4000}, restart: 4000,
		slow: []float64{0, 0.01, 0.05}, slowJobs: []float64{0, 0.05, 0.3}, long: [2]int64{500, 5000}, late: 0.3,
		untimely: 0.1, monitor: 1, holds: 0.05, skew: 20, deaths: 0.02, injects: 0.1, slots: []int{0, 1, 3},
		races:  0.2,
		wait:   [2]int64{300, 5000},
		faults: faults{crash: 0.7, freeze: 0.3, cut: 0.7, stall: 0.7, operator: 1, ask: 0.7, java: 3},
	}
}

// migration is a job that members of ours take over from foreign ones.
func migration() profile {
	return profile{
		name: "migration", members: [2]int64{1, 4}, java: [2]int64{1, 4}, items: [2]int64{2, 9}, timeout: [2]int64{1000, 3000}, period: [2]int64{1, 4},
		late21: 5, away: true,
		trouble: [2]int64{15, 30}, every: [2]int64{1500, 6000}, restart: 3000,
		slow: []float64{0, 0.01}, slowJobs: []float64{0, 0.05}, long: [2]int64{500, 3000}, late: 0.3,
		untimely: 0.1, monitor: 1, skew: 5, deaths: 0.01, injects: 0.05, slots: []int{0, 2},
		races:  0.1,
		wait:   [2]int64{1000, 8000},
		faults: faults{crash: 0.5, freeze: 0.2, cut: 0.3, stall: 0.3, operator: 0.7, ask: 0.7, java: 2},
	}
}

// settle draws the settings of this seed: the job's configuration and the options of its
// members. Beside foreign members some settings are left out, since those would not know
// them.
func (w *World) settle(p profile) {
	w.profile = p
	w.timeout = w.between(p.timeout[0], p.timeout[1]) * millisecond
	w.slow = p.slow[w.rng.IntN(len(p.slow))]
	w.slowJobs = p.slowJobs[w.rng.IntN(len(p.slowJobs))]
	w.config = v21.Default()
	c := &w.config
	c.JobName, c.JobClass, c.JobType = jobName, v21.WasmClass, v21.Simple
	if p.java[1] > 0 {
		c.JobClass = "demo.Job"
	}
	c.ShardingTotalCount = int32(w.between(p.items[0], p.items[1]))
	c.Cron = cronOf(w.between(p.period[0], p.period[1]))
	c.Failover, c.Misfire, c.MonitorExecution = w.chance(0.9), w.chance(0.6), w.chance(p.monitor)
	c.JobShardingStrategyClass = []string{"", "odevity", "rotate"}[w.rng.IntN(3)]
	c.ReconcileIntervalMinutes = int32(w.rng.IntN(2))
	if p.java[1] == 0 && w.chance(0.2) {
		c.MaxTimeDiffSeconds = int32(w.between(0, 3))
	}
	w.options = protocol.Options{
		Define: protocol.Definition{Config: spelling.Text(w.encoded())}, ReshardWait: w.between(p.wait[0], p.wait[1]), PruneAfter: w.between(5000, 40_000),
		MaxUnstored: []int{0, 500, 6}[w.rng.IntN(3)], MaxNodes: []int{0, 0, 4, 7}[w.rng.IntN(4)], Slots: p.slots[w.rng.IntN(len(p.slots))],
		Queue: w.chance(0.4), Replace: w.chance(0.2), Finish: w.chance(0.07),
	}
	if p.java[1] > 0 && w.chance(0.2) {
		w.options.Knows = func(strategy string) bool { return strategy != unknownStrategy }
	}
	w.options.Linger = []int64{0, 2, 20}[w.rng.IntN(3)]
	if p.java[1] == 0 && w.chance(0.5) {
		w.options.Retry = protocol.RetryPolicy{Attempts: int(w.between(2, 5)), Backoff: w.between(50, 2000), MaxBackoff: w.between(500, 4000)}
	}
	if p.java[1] == 0 && w.chance(0.4) { // foreign members do not know listeners of fires
		w.options.Started, w.options.Completed = w.chance(0.8), w.chance(0.8)
	}
	if p.catchUp {
		w.options.CatchUp = []int{1, 1, 3, 100}[w.rng.IntN(4)]
	}
	if p.layout == job.Layout3 && p.java[1] > 0 {
		w.drawFeatures()
	}
}

// define makes the members define the job with the world's configuration.
func (w *World) define() { w.options.Define.Config = spelling.Text(w.encoded()) }

// unknownStrategy is a strategy that, in some jobs, only foreign members know.
const unknownStrategy = "rotate"

// cronOf returns the cron that fires every so many seconds.
func cronOf(seconds int64) string { return fmt.Sprintf("0/%d * * * * ?", seconds) }

// encoded returns the configuration as the layout writes it.
func (w *World) encoded() []byte {
	if w.profile.layout == "" {
		data, err := v21.EncodeConfig(w.config)
		if err != nil {
			panic(err) // the simulation's own settings
		}
		return data
	}
	c := w.config.Apply(job.Config{Name: jobName, Layout: w.profile.layout, Kind: job.Simple})
	if w.profile.java[1] > 0 {
		c.Class = w.config.JobClass
	}
	spelled, err := w.job.Spell(protocol.Definition{}, w.job.Define(c))
	if err != nil {
		panic(err) // as above
	}
	return w.spellStatic(spelling.Bytes(spelled.Config))
}

// newConfig changes one setting of the configuration and returns its text. A job that
// runs after others, or beside one that must have the same cron, keeps its cron.
func (w *World) newConfig() []byte {
	c := &w.config
	switch w.rng.IntN(6) {
	case 0:
		c.ShardingTotalCount = int32(w.between(w.profile.items[0], w.profile.items[1]))
	case 1:
		if cron := cronOf(w.between(w.profile.period[0], w.profile.period[1])); !w.follows() && !w.sameCron {
			c.Cron = cron
		}
	case 2:
		c.Failover = !c.Failover
	case 3:
		c.Misfire = !c.Misfire
	case 4:
		c.MonitorExecution = !c.MonitorExecution || w.calm && len(w.jvms) > 0
	case 5:
		c.JobShardingStrategyClass = []string{"", "odevity", "rotate"}[w.rng.IntN(3)]
	}
	w.configs++
	c.JobParameter = fmt.Sprint(w.configs) // every configuration is different
	return w.encoded()
}
