package golden

// row declares one difference: the nodes of a kind, their states there and here, and the
// line of docs/DIFFERENCES.md that says why.
type row struct{ line, node, theirs, ours string }

// declared lists every difference, by flow or moment. A difference that is not listed
// fails a test, and so does a listed one that no longer exists.
var declared = map[string][]row{
	"basic: start of first instance": {
		{atOnce, "leader.sharding.necessary", "- > P", "- > P > -"},
		{atOnce, "sharding", "-", "- > P"},
		{atOnce, "sharding.N 0 1 2 3 4 5", "-", "- > P"},
		{atOnce, "sharding.N.instance 0 1 2 3 4 5", "-", "- > P m1"},
	},
	"basic: start of second instance": {
		{atOnce, "leader.sharding.necessary", "P", "- > P > -"},
		{atOnce, "sharding.N.instance 0 1 2", "-", "P m1 > P m2"},
	},
	"basic: start of third instance": {
		{atOnce, "leader.sharding.necessary", "P", "- > P > -"},
		{atOnce, "sharding.N.instance 3", "-", "P m1 > P m2"},
		{atOnce, "sharding.N.instance 0 1", "-", "P m2 > P m3"},
	},
	"basic: first tick: sharding of 6 items over 3 instances, then execution": {
		{atOnce, "leader.sharding.necessary", "P > -", "-"},
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{atOnce, "sharding", "- > P", "P"},
		{atOnce, "sharding.N 0 1 2 3 4 5", "- > P", "P"},
		{atOnce, "sharding.N.instance 4 5", "- > P m1", "P m1"},
		{atOnce, "sharding.N.instance 2 3", "- > P m2", "P m2"},
		{atOnce, "sharding.N.instance 0 1", "- > P m3", "P m3"},
	},
	"basic: after start of 1 instance (before its first sharding)": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding", "-", "P"},
		{atOnce, "sharding.N 0 1 2 3 4 5", "-", "P"},
		{atOnce, "sharding.N.instance 0 1 2 3 4 5", "-", "P m1"},
	},
	"basic: after start of 3 instances (before the first sharding)": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding", "-", "P"},
		{atOnce, "sharding.N 0 1 2 3 4 5", "-", "P"},
		{atOnce, "sharding.N.instance 4 5", "-", "P m1"},
		{atOnce, "sharding.N.instance 2 3", "-", "P m2"},
		{atOnce, "sharding.N.instance 0 1", "-", "P m3"},
	},
	"disable: disabling a server and the next tick": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 4 5", "P m1 > - > P m1", "P m1"},
		{inPlace, "sharding.N.instance 3", "P m2 > - > P m1", "P m2 > P m1"},
		{inPlace, "sharding.N.instance 2", "P m2 > - > P m2", "P m2"},
		{inPlace, "sharding.N.instance 0 1", "P m3 > - > P m2", "P m3 > P m2"},
	},
	"disable: enabling it again and the next tick": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 4 5", "P m1 > - > P m1", "P m1"},
		{inPlace, "sharding.N.instance 3", "P m1 > - > P m2", "P m1 > P m2"},
		{inPlace, "sharding.N.instance 2", "P m2 > - > P m2", "P m2"},
		{inPlace, "sharding.N.instance 0 1", "P m2 > - > P m3", "P m2 > P m3"},
	},
	"disable: disabling the leader's server and the next tick": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 4 5", "P m1 > - > P m2", "P m1 > P m2"},
		{inPlace, "sharding.N.instance 3", "P m2 > - > P m2", "P m2"},
		{inPlace, "sharding.N.instance 2", "P m2 > - > P m3", "P m2 > P m3"},
		{inPlace, "sharding.N.instance 0 1", "P m3 > - > P m3", "P m3"},
	},
	"disable: server 10.0.0.3 set DISABLED, before the next tick": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m1"},
		{atOnce, "sharding.N.instance 0 1", "P m3", "P m2"},
	},
	"totals: change of total count to 9 and the next tick": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 4 5", "P m1 > - > P m2", "P m1 > P m2"},
		{inPlace, "sharding.N.instance 3", "P m2 > - > P m2", "P m2"},
		{inPlace, "sharding.N.instance 2", "P m2 > - > P m3", "P m2 > P m3"},
		{inPlace, "sharding.N.instance 0 1", "P m3 > - > P m3", "P m3"},
	},
	"totals: change of total count to 4 and the next tick": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 3", "P m2 > - > P m3", "P m2 > P m3"},
		{inPlace, "sharding.N.instance 2", "P m3 > - > P m1", "P m3 > P m1"},
		{inPlace, "sharding.N.instance 1", "P m3 > - > P m2", "P m3 > P m2"},
		{inPlace, "sharding.N.instance 0", "P m3 > - > P m3", "P m3"},
	},
	"totals: total count set to 9, before the next tick": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N 6 7 8", "-", "P"},
		{atOnce, "sharding.N.instance 6 7 8", "-", "P m1"},
		{atOnce, "sharding.N.instance 4 5", "P m1", "P m2"},
		{atOnce, "sharding.N.instance 2", "P m2", "P m3"},
	},
	"totals: total count set to 4, before the next tick": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N 4 5 6 7 8", "P", "-"},
		{atOnce, "sharding.N.instance 6 7 8", "P m1", "-"},
		{atOnce, "sharding.N.instance 4 5", "P m2", "-"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m3"},
		{atOnce, "sharding.N.instance 2", "P m3", "P m1"},
		{atOnce, "sharding.N.instance 1", "P m3", "P m2"},
	},
	"misfire: overrunning job, misfire=true, 12 s": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{atOnce, "sharding", "- > P", "P"},
		{atOnce, "sharding.N 0 1", "- > P", "P"},
		{atOnce, "sharding.N.instance 0 1", "- > P slow", "P slow"},
		{misfireMark, "sharding.N.misfire 0 1", "- > P > -", "- > P > - > P > - > P > -"},
		{misfireRun, "sharding.N.running 0 1", "- > E > - > E > - > E", "- > E > - > E > - > E > - > E"},
	},
	"misfire: overrunning job, misfire=false, 12 s": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{atOnce, "sharding", "- > P", "P"},
		{atOnce, "sharding.N 0 1", "- > P", "P"},
		{atOnce, "sharding.N.instance 0 1", "- > P slow_off", "P slow_off"},
		{misfireOff, "sharding.N.misfire 0 1", "- > P", "-"},
	},
	"misfire: an item already running elsewhere": {
		{strayMark, "sharding.N.running 0", "- > P", "- > P > - > E > - > E > -"},
	},
	"misfire: the running node goes away": {
		{strayMark, "sharding.N.running 0", "P > - > E > -", "- > E > -"},
	},
	"misfire: a foreign sharding/0/running: the item is left out of the ticks, the others run, no misfire mark": {
		{strayMark, "sharding.N.running 0", "P", "-"},
	},
	"misfire: 3.5 s into a 4 s run of a 3 s cron": {
		{misfireMark, "sharding.N.misfire 0 1", "-", "P"},
	},
	"misfire: overrunning job, misfire=false": {
		{misfireOff, "sharding.N.misfire 0 1", "P", "-"},
	},
	"trigger: trigger of 1 instance(s)": {
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{atOnce, "sharding", "- > P", "P"},
		{atOnce, "sharding.N 0 1 2 3 4 5", "- > P", "P"},
		{atOnce, "sharding.N.instance 4 5", "- > P m1", "P m1"},
		{atOnce, "sharding.N.instance 2 3", "- > P m2", "P m2"},
		{atOnce, "sharding.N.instance 0 1", "- > P m3", "P m3"},
	},
	"shutdown: SIGTERM of an idle non-leader, rc=143": {
		{atOnce, "leader.sharding.necessary", "- > P", "- > P > -"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m2 > P m1"},
		{atOnce, "sharding.N.instance 2", "P m2", "P m2 > P m3"},
	},
	"shutdown: SIGTERM of a non-leader during its execution": {
		{atOnce, "leader.sharding.necessary", "- > P", "- > P > -"},
		{atOnce, "sharding.N.instance 0 1 2", "P m3", "P m3 > P m1"},
	},
	"shutdown: 7 s after SIGTERM of an idle non-leader (JVM hook, failover on)": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m1"},
		{atOnce, "sharding.N.instance 2", "P m2", "P m3"},
	},
	"shutdown: 7 s after SIGTERM of a non-leader in execution": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 0 1 2", "P m3", "P m1"},
	},
	"shutdown: right after SIGTERM of the last one": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 0 1 2", "P m3", "P m1"},
	},
	"shutdown: after clean shutdown of all": {
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 0 1 2", "P m3", "P m1"},
	},
	"once: first tick with the distributed-once listener": {
		{fireListeners, "guarantee", "- > P", "-"},
		{fireListeners, "guarantee.completed", "- > P > -", "-"},
		{fireListeners, "guarantee.completed.N 0 1 2 3", "- > P > -", "-"},
		{fireListeners, "guarantee.started", "- > P > -", "-"},
		{fireListeners, "guarantee.started.N 0 1 2 3", "- > P > -", "-"},
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{atOnce, "sharding", "- > P", "P"},
		{atOnce, "sharding.N 0 1 2 3", "- > P", "P"},
		{atOnce, "sharding.N.instance 2 3", "- > P m1", "P m1"},
		{atOnce, "sharding.N.instance 0 1", "- > P m2", "P m2"},
	},
	"once: second tick with the distributed-once listener": {
		{fireListeners, "guarantee.completed", "- > P > -", "-"},
		{fireListeners, "guarantee.completed.N 0 1 2 3", "- > P > -", "-"},
		{fireListeners, "guarantee.started", "- > P > -", "-"},
		{fireListeners, "guarantee.started.N 0 1 2 3", "- > P > -", "-"},
	},
	"once: after a run with the distributed-once listener": {
		{fireListeners, "guarantee", "P", "-"},
	},
	"failover_one_ip: SIGKILL of a non-leader during execution and failover of its items": {
		{pendingRun, "leader.failover.items.N 2 3", "- > P > -", "- > P run > -"},
		{failoverQueue, "leader.failover.latch", "- > P", "-"},
		{atOnce, "leader.sharding.necessary", "- > P", "- > P > -"},
		{takeAtOnce, "sharding.N.failover 2", "- > E m3 > -", "- > E m1 > -"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m2 > P m1"},
		{atOnce, "sharding.N.instance 2", "P m2", "P m2 > P m3"},
	},
	"failover_one_ip: next tick (resharding to 2)": {
		{atOnce, "leader.sharding.necessary", "P > -", "-"},
		{inPlace, "leader.sharding.processing", "- > E > -", "-"},
		{inPlace, "sharding.N.instance 4 5", "P m1 > - > P m1", "P m1"},
		{atOnce, "sharding.N.instance 3", "P m2 > - > P m1", "P m1"},
		{atOnce, "sharding.N.instance 2", "P m2 > - > P m3", "P m3"},
		{inPlace, "sharding.N.instance 0 1", "P m3 > - > P m3", "P m3"},
	},
	"failover_one_ip: SIGKILL of the idle leader": {
		{onlyRunning, "leader.failover.items.N 3 4 5", "- > P > -", "-"},
		{atOnce, "leader.sharding.necessary", "- > P", "- > P > -"},
		{onlyRunning, "sharding.N.failover 4 5", "- > E m3", "-"},
		{onlyRunning, "sharding.N.failover 3", "- > E m3 > -", "-"},
		{atOnce, "sharding.N.instance 3 4 5", "P m1", "P m1 > P m3"},
		{onlyRunning, "sharding.N.running 4 5", "- > E", "-"},
		{onlyRunning, "sharding.N.running 3", "- > E > -", "-"},
	},
	"failover_one_ip: 2 to 3 s after SIGKILL (session timeout 2 s), survivors still running their own items": {
		{takeAtOnce, "leader.failover.items.N 2 3", "P", "-"},
		{takeAtOnce, "sharding.N.failover 2 3", "-", "E m1"},
		{takeAtOnce, "sharding.N.running 2 3", "-", "E"},
	},
	"failover_one_ip: after failover": {
		{failoverQueue, "leader.failover.latch", "P", "-"},
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{atOnce, "sharding.N.instance 3", "P m2", "P m1"},
		{atOnce, "sharding.N.instance 2", "P m2", "P m3"},
	},
	"failover_one_ip: idle with two, before killing the leader": {
		{failoverQueue, "leader.failover.latch", "P", "-"},
	},
	"failover_one_ip: after the idle leader's death": {
		{failoverQueue, "leader.failover.latch", "P", "-"},
		{atOnce, "leader.sharding.necessary", "P", "-"},
		{onlyRunning, "sharding.N.failover 4 5", "E m3", "-"},
		{atOnce, "sharding.N.instance 3 4 5", "P m1", "P m3"},
		{onlyRunning, "sharding.N.running 4 5", "E", "-"},
	},
	"failover_one_ip: after the next tick with one": {
		{failoverQueue, "leader.failover.latch", "P", "-"},
	},
}
