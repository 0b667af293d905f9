package record

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const (
	patience  = 2 * time.Minute
	lookEvery = 100 * time.Millisecond
	// calm is the silence after which everything counts as over. Runs of the usual
	// members are shorter.
	calm = 1500 * time.Millisecond
	job  = "job"
)

// stage is a scenario in progress.
type stage struct {
	t         *testing.T
	classpath string
	release   string
	server    *zktest.Server
	namespace string
	began     time.Time
	period    time.Duration // from one instant to the next

	processes []*process       // the operator's first
	sessions  map[int64]string // the owners of sessions
	flows     []span
	moments   []glance
	notes     []string
}

// span is a part of the log, given by its first and last entries.
type span struct {
	name     string
	from, to int64
}

// glance is a moment at which the tree is recorded.
type glance struct {
	name string
	zxid int64
	at   time.Time
}

func newStage(t *testing.T, classpath, release string) *stage {
	t.Helper()
	s := &stage{
		t: t, classpath: classpath, release: release, server: zktest.Start(t, zktest.Debian(t), zktest.Options{}),
		namespace: "ns", began: time.Now(), period: 10 * time.Second, sessions: map[int64]string{},
	}
	s.processes = append(s.processes, s.launch("tool", "recorder.Operator", "zk="+s.server.Address()))
	return s
}

// log returns the writes since the stage was created, without the root of its namespace.
func (s *stage) log() []zktest.Transaction { return s.server.Log() }

func (s *stage) zxid() int64 {
	log := s.log()
	if len(log) == 0 {
		return 0
	}
	return log[len(log)-1].Zxid
}

// until checks repeatedly until so returns true.
func (s *stage) until(what string, so func() bool) {
	s.t.Helper()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	late := time.After(patience)
	for !so() {
		select {
		case <-look.C:
		case <-late:
			s.t.Fatalf("waited in vain for %s; there is:\n%s", what, strings.Join(paths(s.tree(s.zxid())), "\n"))
		}
	}
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) { <-time.After(d) }

// quiet waits until nothing was written for d.
func (s *stage) quiet(d time.Duration) {
	s.t.Helper()
	last, since := s.zxid(), time.Now()
	s.until("quiet", func() bool {
		if z := s.zxid(); z != last {
			last, since = z, time.Now()
		}
		return time.Since(since) >= d
	})
}

// member is a member to start.
type member struct {
	name, ip string
	settings []string
}

func with(name, ip string, settings ...string) member { return member{name, ip, settings} }

// early starts processes, waits until an instant has just passed and its runs are over, and
// lets the processes join one after the other. It skips the play if the next instant comes
// before all have joined.
func (s *stage) early(members ...member) (all []*process) {
	s.t.Helper()
	for _, m := range members {
		all = append(all, s.prepare(m))
	}
	now := time.Now().Truncate(s.period).Add(s.period)
	s.pass(time.Until(now))
	s.quiet(calm) // also without members: Quartz fires at once if a job joins within the second of an instant
	for _, p := range all {
		s.join(p)
		if len(s.processes) > 2 && time.Now().After(now.Add(s.period)) {
			s.t.Skipf("an instant came before %s had joined", p.name)
		}
	}
	return all
}

// tick waits for an instant and the end of its runs.
func (s *stage) tick() {
	s.t.Helper()
	s.begun()
	s.quiet(calm)
}

// soon skips the play if the latest instant is more than five seconds ago: Quartz treats a
// later resume as a misfire.
func (s *stage) soon() {
	s.t.Helper()
	if now := time.Now(); now.Sub(now.Truncate(s.period)) > 5*time.Second {
		s.t.Skip("the operator came more than five seconds after an instant")
	}
}

// instant waits for an instant, at which perhaps nothing begins.
func (s *stage) instant() {
	s.t.Helper()
	s.pass(time.Until(time.Now().Truncate(s.period).Add(s.period)) + calm)
	s.quiet(calm)
}

// begun waits for an instant and the first write for it.
func (s *stage) begun() {
	s.t.Helper()
	s.pass(time.Until(time.Now().Truncate(s.period).Add(s.period)))
	before := s.zxid()
	s.until("an instant's writes", func() bool { return s.zxid() > before || s.said() })
}

// said reports whether a member has printed something in the last second: some members
// write nothing during a run.
func (s *stage) said() bool {
	for _, p := range s.processes {
		p.mu.Lock()
		n := len(p.lines)
		recent := n > 0 && time.Now().UnixMilli()-int64(p.lines[n-1]["t"].(float64)) < 1000
		p.mu.Unlock()
		if recent {
			return true
		}
	}
	return false
}

// flow is a named part of the scenario.
func (s *stage) flow(name string, do func()) {
	s.t.Helper()
	before, from := int64(0), s.zxid()+1
	if n := len(s.flows); n > 0 {
		before = s.flows[n-1].to
	}
	if before+1 < from {
		s.flows = append(s.flows, span{"meanwhile", before + 1, from - 1})
	}
	do()
	s.flows = append(s.flows, span{name, from, s.zxid()})
}

// moment records the tree as it is now.
func (s *stage) moment(name string) {
	s.moments = append(s.moments, glance{name, s.zxid(), time.Now()})
}

// prepare starts a process that joins after a line of input.
func (s *stage) prepare(m member) *process {
	s.t.Helper()
	usual := []string{
		"zk=" + s.server.Address(), "namespace=" + s.namespace, "ip=" + m.ip, "job=" + job, "total=4", "params=0=a,1=b,2=c,3=d", "parameter=p", "sleep=500",
		fmt.Sprintf("cron=0/%d * * * * ?", int(s.period.Seconds())),
	}
	p := s.launch(m.name, "recorder.Member", append(usual, m.settings...)...)
	s.processes = append(s.processes, p)
	s.until(m.name+" to be ready", func() bool { return p.count("ready") > 0 })
	return p
}

// join lets a member join in a flow of its own. The session that begins meanwhile belongs
// to it.
func (s *stage) join(p *process) {
	s.t.Helper()
	s.flow("start of "+p.name, func() {
		before := s.zxid()
		p.feed(s.t, "")
		s.until(p.name+" to join", func() bool { return p.count("joined") > 0 })
		n := 0
		for _, x := range s.log() {
			if x.Zxid > before && x.Changes[0].Kind == zktest.SessionBegun {
				s.sessions[x.Session] = p.name
				n++
			}
		}
		if n != 1 {
			s.t.Skipf("%d sessions began while %s joined", n, p.name)
		}
		s.quiet(calm / 2)
	})
}

// first starts a member that joins at any time.
func (s *stage) first(name, ip string, settings ...string) {
	s.t.Helper()
	s.join(s.prepare(with(name, ip, settings...)))
}

// undisturbed skips the play if a member has lost its session or connection without a
// signal.
func (s *stage) undisturbed() {
	s.t.Helper()
	if name := s.lost(s.log()); name != "" {
		s.t.Skipf("%s lost its session or its connection", name)
	}
}

// lost returns a member that began another session, or created its status again, as members
// do after they reconnect.
func (s *stage) lost(log []zktest.Transaction) string {
	made := map[string]bool{}
	for _, x := range log {
		first := x.Changes[0]
		name, known := s.sessions[x.Session]
		switch {
		case first.Kind == zktest.SessionBegun && !known:
			name = s.byAddress(log, x.Session)
		case first.Kind == zktest.Created && first.Ephemeral && strings.HasSuffix(first.Path, "/status"):
			status := fmt.Sprintf("%s by %x", first.Path, x.Session)
			if !made[status] {
				made[status] = true
				continue
			}
		default:
			continue
		}
		if slices.ContainsFunc(s.processes[1:], func(p *process) bool { return p.name == name && p.alone(x.Time) }) {
			return name
		}
	}
	return ""
}

// two starts two members that are idle until the next instant.
func (s *stage) two(settings ...string) (m1, m2 *process) {
	s.t.Helper()
	all := s.early(with("m1", "10.0.0.1", settings...), with("m2", "10.0.0.2", settings...))
	return all[0], all[1]
}

// operate runs an operation of the operator.
func (s *stage) operate(words ...string) {
	s.t.Helper()
	tool := s.processes[0]
	before := tool.count("done failed")
	tool.feed(s.t, s.namespace+" "+job+" "+strings.Join(words, " "))
	s.until("the operator", func() bool { return tool.count("done failed") > before })
}

// running waits until n items are marked as running.
func (s *stage) running(n int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d items that run", n), func() bool {
		found := 0
		for _, p := range paths(s.tree(s.zxid())) {
			if strings.HasPrefix(p, s.at("execution/")) && strings.HasSuffix(p, "/running") {
				found++
			}
		}
		return found == n
	})
}

// there waits until a node exists or, if want is false, does not exist.
func (s *stage) there(name string, want bool) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s: %v", name, want), func() bool { _, ok := s.tree(s.zxid())[s.at(name)]; return ok == want })
}

func (s *stage) at(name string) string { return "/" + s.namespace + "/" + job + "/" + name }

// kill ends a member like kill -9.
func (s *stage) kill(p *process) {
	s.t.Helper()
	p.signal(s.t, syscall.SIGKILL)
	<-p.ended
}

// stop ends a member like a service manager, unless it has ended by itself.
func (s *stage) stop(p *process) {
	s.t.Helper()
	select {
	case <-p.ended:
		s.notes = append(s.notes, p.name+" had ended by itself before its SIGTERM")
		return
	default:
	}
	p.signal(s.t, syscall.SIGTERM)
	<-p.ended
}
