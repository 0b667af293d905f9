package record

import (
	"syscall"
	"time"
)

// scenario is the subject of one recording.
type scenario struct {
	name string
	play func(*stage)
	how  chance
}

// chance says what differs between plays of a scenario.
type chance uint8

const (
	fixed chance = iota
	// Sessions, or threads of one, race for the same nodes, so the order of writes differs.
	races
	// Timing decides what is written at all.
	forks
)

var scenarios = []scenario{
	{name: "basic", play: basic},
	{name: "unmonitored", play: unmonitored, how: races},
	{name: "failover", play: failover},
	{name: "misfire", play: misfire},
	{name: "pause", play: pause},
	{name: "disable", play: disable},
	{name: "trigger", play: trigger},
	{name: "shutdown", play: shutdown},
	{name: "totals", play: totals},
	{name: "once", play: once},
	{name: "reconnect", play: reconnect, how: forks},
	{name: "one_ip", play: oneIP, how: races},
	{name: "config", play: config},
	{name: "verbs", play: verbs},
}

func basic(s *stage) {
	s.two()
	s.flow("first tick: sharding over 2 servers, then execution", func() {
		s.begun()
		s.running(4)
		s.moment("during execution")
		s.quiet(calm)
	})
	s.moment("after the first tick")
	s.flow("second tick: execution only", s.tick)
	s.flow("3 s of idling", func() { s.pass(3 * time.Second) })
	s.flow("statistics", func() {
		s.operate("jobs")
		s.operate("servers")
		s.operate("items")
	})
	s.early(with("m3", "10.0.0.3"))
	s.flow("tick with 3 servers", s.tick)
}

func unmonitored(s *stage) {
	s.two("monitor=false", "sleep=1000")
	s.flow("first tick", s.tick)
	s.flow("second tick", s.tick)
	s.flow("monitoring is switched on", func() { s.operate("set", "monitor=true"); s.quiet(calm) })
	s.flow("tick with monitoring", s.tick)
	s.flow("monitoring is switched off in execution", func() {
		s.begun()
		s.running(4)
		s.operate("set", "monitor=false")
		s.quiet(calm)
	})
	s.flow("tick without monitoring", s.tick)
}

func failover(s *stage) {
	s.period = 20 * time.Second
	slow := []string{"failover=true", "sleep=3000"}
	all := s.early(with("m1", "10.0.0.1", slow...), with("m2", "10.0.0.2", slow...), with("m3", "10.0.0.3", slow...))
	m1, m2, m3 := all[0], all[1], all[2]
	s.flow("first tick", func() { s.begun(); s.quiet(4 * time.Second) })
	s.flow("SIGKILL of m2 in execution", func() {
		s.begun()
		s.running(4)
		s.moment("before SIGKILL of m2")
		s.kill(m2)
		s.there("servers/10.0.0.2/status", false)
		s.quiet(5 * time.Second)
	})
	s.moment("after the failover")
	s.flow("next tick", func() { s.begun(); s.quiet(4 * time.Second) })
	s.flow("SIGKILL of idle m1", func() {
		s.kill(m1)
		s.there("servers/10.0.0.1/status", false)
		s.quiet(calm)
	})
	s.flow("next tick, of m3 alone", func() { s.begun(); s.quiet(4 * time.Second) })
	all = s.early(with("m2", "10.0.0.2", slow...), with("m1", "10.0.0.1", slow...))
	m2, m1 = all[0], all[1]
	s.flow("SIGKILL of m3 in execution, then of the first that takes over", func() {
		s.begun()
		s.running(4)
		s.kill(m3)
		taker := ""
		s.until("a taker", func() bool {
			for p, n := range s.tree(s.zxid()) {
				if len(p) > 9 && p[len(p)-9:] == "/failover" && n.Ephemeral {
					taker = n.Data
				}
			}
			return taker != ""
		})
		dead, there := m1, "servers/10.0.0.1/status"
		if taker == "10.0.0.2" {
			dead, there = m2, "servers/10.0.0.2/status"
		}
		s.kill(dead)
		s.there(there, false)
		s.quiet(6 * time.Second)
	})
}

func misfire(s *stage) {
	s.period = 4 * time.Second
	s.early(with("m1", "10.0.0.1", "sleep=6000", "total=2"))
	s.flow("30 s of runs longer than their period", func() { s.pass(30 * time.Second) })
	s.flow("misfire is switched off", func() { s.operate("set", "misfire=false"); s.pass(20 * time.Second) })
}

func pause(s *stage) {
	m1, _ := s.two()
	s.flow("first tick", s.tick)
	s.flow("pause of 10.0.0.2", func() { s.operate("pause", "10.0.0.2"); s.quiet(calm) })
	s.flow("tick with a paused server", s.tick)
	s.flow("statistics of a paused server", func() { s.operate("jobs"); s.operate("servers") })
	s.flow("resume of 10.0.0.2", func() { s.operate("resume", "10.0.0.2"); s.soon(); s.quiet(calm) })
	s.flow("tick after the resume", s.tick)
	s.flow("pause of all in execution", func() {
		s.begun()
		s.running(4)
		s.operate("pause")
		s.quiet(calm)
	})
	s.flow("instant while all are paused", func() { s.pass(s.period) })
	s.flow("SIGTERM and start of the paused m1", func() {
		s.stop(m1)
		s.quiet(4 * time.Second)
	})
	s.early(with("m1", "10.0.0.1"))
	s.flow("tick with m1 alone unpaused", s.tick)
}

func disable(s *stage) {
	s.two()
	s.flow("first tick", s.tick)
	s.flow("disable of 10.0.0.2", func() { s.operate("disable", "10.0.0.2"); s.quiet(calm) })
	s.flow("tick with a disabled server", s.tick)
	s.flow("enable of 10.0.0.2", func() { s.operate("enable", "10.0.0.2"); s.quiet(calm) })
	s.flow("tick after the enable", s.tick)
	s.flow("disable of the leader 10.0.0.1", func() { s.operate("disable", "10.0.0.1"); s.quiet(calm) })
	s.flow("tick with the former leader disabled", s.tick)
	s.early(with("m3", "10.0.0.3", "disabled=true"))
	s.flow("tick with a member that began disabled", s.tick)
	s.flow("enable of all", func() { s.operate("enable"); s.quiet(calm) })
	s.flow("tick after that", s.tick)
}

func trigger(s *stage) {
	s.two()
	s.flow("trigger of 10.0.0.1 before any tick", func() { s.operate("trigger", "10.0.0.1"); s.quiet(3 * time.Second) })
	s.flow("first tick", s.tick)
	s.flow("trigger of 10.0.0.2", func() { s.operate("trigger", "10.0.0.2"); s.quiet(calm) })
	s.flow("trigger of all", func() { s.operate("trigger"); s.quiet(calm) })
	s.flow("trigger in execution", func() {
		s.begun()
		s.running(4)
		s.operate("trigger")
		s.quiet(calm)
	})
}

func shutdown(s *stage) {
	m1, m2 := s.two("sleep=1000")
	s.flow("first tick", s.tick)
	s.flow("shutdown of 10.0.0.2 by an operator", func() { s.operate("shutdown", "10.0.0.2"); s.quiet(calm) })
	s.flow("tick without it", s.tick)
	s.flow("statistics of a server that was shut down", func() { s.operate("jobs"); s.operate("servers") })
	s.flow("SIGTERM of m2 after that", func() { s.stop(m2); s.quiet(4 * time.Second) })
	m2 = s.early(with("m2", "10.0.0.2", "sleep=1000"))[0]
	s.flow("tick with m2 again", s.tick)
	s.flow("SIGTERM of m2, idle", func() { s.stop(m2); s.quiet(4 * time.Second) })
	s.flow("tick of m1 alone", s.tick)
	s.flow("remove of 10.0.0.2", func() { s.operate("remove", "10.0.0.2"); s.quiet(calm) })
	s.flow("SIGTERM of m1 in execution, the last one", func() {
		s.begun()
		s.running(4)
		s.stop(m1)
		s.quiet(4 * time.Second)
	})
	s.moment("without members")
	s.flow("statistics without members", func() { s.operate("jobs"); s.operate("servers"); s.operate("items") })
	m1 = s.early(with("m1", "10.0.0.1", "sleep=1000"))[0]
	s.flow("tick after the restart", s.tick)
	s.flow("SIGTERM of m1 and remove of all", func() {
		s.stop(m1)
		s.quiet(4 * time.Second)
		s.operate("remove")
		s.quiet(calm)
	})
}

func totals(s *stage) {
	s.two()
	s.flow("first tick", s.tick)
	s.flow("total 4 to 6", func() { s.operate("set", "total=6|params=0=a,1=b,2=c,3=d,4=e,5=f"); s.quiet(calm) })
	s.flow("tick with 6 items", s.tick)
	s.flow("total 6 to 3", func() { s.operate("set", "total=3"); s.quiet(calm) })
	s.flow("tick with 3 items", s.tick)
	s.flow("second tick with 3 items", s.tick)
	s.flow("total 3 to 1", func() { s.operate("set", "total=1"); s.quiet(calm) })
	s.flow("tick with 1 item for 2 servers", s.tick)
	s.flow("cron changed", func() { s.operate("set", "cron=0/5 * * * * ?"); s.quiet(calm) })
	s.period = 5 * time.Second
	s.flow("tick of the new cron", s.tick)
}

func once(s *stage) {
	s.two("once=true")
	s.flow("first tick", s.tick)
	s.flow("second tick", s.tick)
}

func reconnect(s *stage) {
	_, m2 := s.two("sleep=3000", "failover=true")
	s.flow("first tick", func() { s.begun(); s.quiet(3500 * time.Millisecond) })
	s.period = 30 * time.Second
	s.early()
	s.flow("m2 frozen beyond its session", func() {
		m2.signal(s.t, syscall.SIGSTOP)
		s.there("servers/10.0.0.2/status", false)
		s.quiet(4 * time.Second)
	})
	s.flow("m2 goes on", func() {
		m2.signal(s.t, syscall.SIGCONT)
		s.there("servers/10.0.0.2/status", true)
		s.quiet(4 * time.Second)
	})
	s.flow("next tick", func() {
		s.period = 10 * time.Second
		s.begun()
		s.quiet(3500 * time.Millisecond)
	})
	s.flow("m2 frozen in execution beyond its session", func() {
		s.begun()
		s.running(4)
		m2.signal(s.t, syscall.SIGSTOP)
		s.there("servers/10.0.0.2/status", false)
		s.pass(4 * time.Second)
		m2.signal(s.t, syscall.SIGCONT)
		s.there("servers/10.0.0.2/status", true)
		s.pass(12 * time.Second)
	})
}

func oneIP(s *stage) {
	m2 := s.early(with("m1", "10.0.0.1"), with("m2", "10.0.0.1"))[1]
	s.flow("first tick", s.tick)
	s.flow("second tick", s.tick)
	s.flow("SIGTERM of m2", func() { s.stop(m2); s.quiet(4 * time.Second) })
	s.flow("next tick", s.tick)
}

// verbs are requests of an operator to a server with an unusual state.
func verbs(s *stage) {
	m1, m2 := s.two("misfire=false", "failover=true")
	s.flow("first tick", s.tick)
	s.flow("pause of 10.0.0.2", func() { s.operate("pause", "10.0.0.2"); s.quiet(calm) })
	s.flow("trigger of the paused server", func() { s.operate("trigger", "10.0.0.2"); s.quiet(calm) })
	s.flow("instant while it is paused", s.instant)
	s.flow("resume without misfire", func() { s.operate("resume", "10.0.0.2"); s.soon(); s.quiet(calm) })
	s.flow("disable of 10.0.0.2", func() { s.operate("disable", "10.0.0.2"); s.quiet(calm) })
	s.flow("trigger of the disabled server", func() { s.operate("trigger", "10.0.0.2"); s.quiet(calm) })
	s.flow("instant while it is disabled", s.instant)
	s.flow("enable of 10.0.0.2", func() { s.operate("enable", "10.0.0.2"); s.quiet(calm) })
	s.flow("failover is switched off", func() { s.operate("set", "failover=false"); s.quiet(calm) })
	s.flow("SIGKILL of m2 in execution without failover", func() {
		s.begun()
		s.running(4)
		s.kill(m2)
		s.there("servers/10.0.0.2/status", false)
		s.quiet(calm)
	})
	m2 = s.early(with("m2", "10.0.0.2", "misfire=false", "failover=true"))[0]
	s.flow("shutdown of the leader 10.0.0.1", func() { s.operate("shutdown", "10.0.0.1"); s.quiet(3 * time.Second) })
	s.flow("instant after that", s.instant)
	s.flow("trigger of all with one shut down", func() { s.operate("trigger"); s.quiet(calm) })
	s.stop(m1)
	s.stop(m2)
}

// config has a job for each kind of configuration. None of them runs.
func config(s *stage) {
	never := "cron=0 0 0 1 1 ? 2098"
	flows := []string{"kind=dataflow"}
	if s.release == "1" {
		flows = []string{"kind=sequence", "fetch=7", "threads=3", "counts=60"}
	}
	s.first("least", "10.0.0.1", "job=least", never, "params=", "parameter=", "total=1")
	s.first("all", "10.0.0.1", "job=all", never, "params=0=<a>,1=b&c", "parameter=\"é\\'=\t", "description=größer > 1", "failover=true", "misfire=false",
		"monitor=false", "skew=30", "port=0", "strategy="+strategyOf(s.release), "disabled=true", "overwrite=true", "total=2147483")
	s.first("flow", "10.0.0.1", append([]string{"job=flow", never, "streaming=true"}, flows...)...)
	s.first("script", "10.0.0.1", "job=script", never, "kind=script", "script=/bin/echo a=b")
	s.first("kept", "10.0.0.2", "job=least", "cron=0 0 0 1 1 ? 2097", "params=0=other", "total=2")
	s.first("over", "10.0.0.3", "job=least", "cron=0 0 0 1 1 ? 2096", "params=0=other", "total=2", "overwrite=true")
	s.early(with("time", "10.0.0.1", "skew=60"))
	s.flow("tick that looks at the clocks", s.tick)
}

func strategyOf(release string) string {
	if release == "1" {
		return "com.dangdang.ddframe.job.plugin.sharding.strategy.OdevitySortByNameJobShardingStrategy"
	}
	return "com.dangdang.ddframe.job.lite.api.strategy.impl.OdevitySortByNameJobShardingStrategy"
}

// stopped has the flags of servers that releases before 1.0.8 use.
func stopped(s *stage) {
	_, m2 := s.two()
	s.flow("first tick", s.tick)
	s.flow("stop of 10.0.0.2", func() { s.operate("make", "10.0.0.2/stoped"); s.quiet(calm) })
	s.flow("instant with a stopped server", s.instant)
	s.flow("10.0.0.2 goes on", func() { s.operate("remove", "10.0.0.2/stoped"); s.quiet(calm) })
	s.flow("tick after that", s.tick)
	s.flow("stop of the leader in execution", func() {
		s.begun()
		s.running(4)
		s.operate("make", "10.0.0.1/stoped")
		s.quiet(calm)
	})
	s.flow("instant with a stopped leader", s.instant)
	s.flow("stop and SIGKILL of 10.0.0.2", func() {
		s.operate("make", "10.0.0.2/stoped")
		s.kill(m2)
		s.there("servers/10.0.0.2/status", false)
	})
	s.early(with("m2", "10.0.0.2"))
	s.flow("instant after the restart", s.instant)
	s.flow("shutdown of 10.0.0.2", func() { s.operate("make", "10.0.0.2/shutdown"); s.quiet(calm) })
	s.flow("instant after the shutdown", s.instant)
}

// sequence has each item fetch for itself, with offsets and counts.
func sequence(s *stage) { counted(s, "kind=sequence") }

// throughput fetches for all items of a server at once.
func throughput(s *stage) { counted(s, "kind=throughput") }

func counted(s *stage, kind string) {
	s.two(kind, "streaming=true", "batches=2", "counts=4", "fetch=5", "threads=2")
	s.flow("first tick", s.tick)
	s.flow("counts of it", func() { s.pass(5 * time.Second) })
	s.flow("second tick", s.tick)
	s.flow("statistics", func() { s.operate("servers"); s.operate("items") })
	s.flow("SIGTERM of m1 and a start", func() {
		s.kill(s.processes[1])
		s.there("servers/10.0.0.1/status", false)
	})
	s.early(with("m1", "10.0.0.1", kind, "streaming=false", "batches=2", "counts=4", "overwrite=true"))
	s.flow("tick without streaming", s.tick)
}

func dataflow(s *stage) {
	s.two("kind=dataflow", "streaming=true", "batches=2")
	s.flow("first tick", s.tick)
	s.flow("second tick", s.tick)
	s.early(with("m3", "10.0.0.3", "kind=dataflow", "streaming=false", "batches=2", "overwrite=true"))
	s.flow("tick without streaming", s.tick)
}
