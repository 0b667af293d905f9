package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

const (
	// session is the time-out of the servers' sessions.
	session = 3 * time.Second
	// patience ends a test that waits for what does not come.
	patience = 90 * time.Second
	// look is how often it looks.
	look = 20 * time.Millisecond
)

// jobs are those of testdata/jobs.toml. The instants of slow are far apart, so its
// runs are taken over; of the others the next instant has come by then.
var jobs = []evidence.Job{
	{Name: "quick", Items: 4, Every: time.Second},
	{Name: "busy", Items: 3, Every: time.Second},
	{Name: "slow", Items: 6, Every: 10 * time.Second},
	{Name: "flow", Items: 2, Every: 2 * time.Second, Batch: 10},
}

// cluster are the servers of one fault.
type cluster struct {
	*testing.T
	net      *network
	ensemble ensemble
	name     string
	dir      string
	lines    *tail
	servers  []*server

	input evidence.Input // what the fault adds to
}

// server is one wasmjobd, or the place of one.
type server struct {
	cluster *cluster
	machine machine
	dir     string
	running *process
}

// process is one life of a server.
type process struct {
	cmd   *exec.Cmd
	asked bool // to end
	ended chan struct{}
	err   error // once ended is closed
}

// newCluster starts a server on each machine, and waits until all run
// something.
func newCluster(t *testing.T, n *network, e ensemble, machines []machine) *cluster {
	t.Helper()
	name := filepath.Base(t.Name())
	c := &cluster{T: t, net: n, ensemble: e, name: name, dir: filepath.Join(workDir(t), name)}
	c.input.Jobs = jobs
	c.lines = &tail{name: filepath.Join(c.dir, "evidence", "lines")}
	if err := os.MkdirAll(filepath.Join(c.dir, "evidence"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		s := &server{cluster: c, machine: m, dir: filepath.Join(c.dir, m.ip)}
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		c.servers = append(c.servers, s)
		s.start()
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.kill()
		}
	})
	c.await("every server to run something", func(lines []evidence.Line) bool { return len(c.idle(lines, 0)) == 0 })
	c.input.From = time.Now().UnixMilli()
	return c
}

// workDir keeps what servers leave, for whoever looks for a fault of theirs.
func workDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../build/faults/work")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// command runs the server's program with its configuration.
func (s *server) command(args ...string) *exec.Cmd {
	c := s.cluster
	cmd := exec.Command(args[0], append(args[1:], "--config", "testdata/jobs.toml")...)
	cmd.Env = append(os.Environ(),
		"IP="+s.machine.ip, "NAMESPACE="+c.name, "SESSION="+session.String(),
		"DATA="+filepath.Join(workDir(c), "data-"+s.machine.ip), "HISTORY="+filepath.Join(s.dir, "history.db"),
		"EVIDENCE="+filepath.Dir(c.lines.name), "GUEST="+filepath.Join(workDir(c), "..", "guest.wasm"))
	for i, address := range c.ensemble.addresses() {
		cmd.Env = append(cmd.Env, fmt.Sprintf("ZK%d=%s", i+1, address))
	}
	return cmd
}

// program is the server as make builds it.
const program = "../../build/wasmjobd"

// start begins a life.
func (s *server) start() {
	c := s.cluster
	c.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	p := &process{cmd: s.command(append(s.machine.enter(), program, "serve")...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = errors.Join(p.cmd.Wait(), log.Close())
	}()
	s.running = p
}

// signal is for a process that may have ended.
func (s *server) signal(sig syscall.Signal) { _ = s.running.cmd.Process.Signal(sig) }

// kill ends a life as a power cut would.
func (s *server) kill() {
	s.running.asked = true
	s.signal(syscall.SIGKILL)
	<-s.running.ended
}

// stop ends a life as an operator does, and tells how that went.
func (s *server) stop() error {
	s.cluster.Helper()
	s.askToStop()
	return s.stopped()
}

func (s *server) askToStop() {
	s.running.asked = true
	s.signal(syscall.SIGTERM)
}

// stopped waits for an end that has been asked for.
func (s *server) stopped() error {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-s.running.ended:
		if s.running.err != nil {
			return fmt.Errorf("%s ended with %w\n%s", s.machine.ip, s.running.err, s.log())
		}
		return nil
	case <-late.C:
		s.kill()
		return fmt.Errorf("%s does not stop\n%s", s.machine.ip, s.log())
	}
}

// log is the end of what the server has logged.
func (s *server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// rows are those of the server's history.
func (s *server) rows() []trace.Row {
	c := s.cluster
	c.Helper()
	var rows []trace.Row
	for cursor := ""; ; {
		cmd := s.command(program, "history", "list", "-o", "json", "--limit", "1000", "--cursor", cursor)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			c.Fatalf("read the history of %s: %v", s.machine.ip, err)
		}
		var page struct {
			Rows []struct {
				Job      string
				Item     int
				Run      string
				Attempt  int
				Instant  int64 `json:"instant_unix_ms"`
				Last     int64 `json:"last_unix_ms"`
				Count    int64
				Cause    trace.Cause
				State    trace.State
				Reason   string
				Instance string
				Start    int64 `json:"start_unix_ms"`
				End      int64 `json:"end_unix_ms"`
				Fence    int64
			}
			Next string
		}
		if err := json.Unmarshal(out, &page); err != nil {
			c.Fatalf("read the history of %s: %v", s.machine.ip, err)
		}
		for _, r := range page.Rows {
			rows = append(rows, trace.Row{Job: r.Job, Item: r.Item, Run: r.Run, Attempt: r.Attempt, Instant: r.Instant, Last: r.Last, Count: r.Count,
				Cause: r.Cause, State: r.State, Reason: r.Reason, Instance: r.Instance, Start: r.Start, End: r.End, Fence: r.Fence})
		}
		if cursor = page.Next; cursor == "" {
			return rows
		}
	}
}

// tail reads the evidence as it grows.
type tail struct {
	name   string
	offset int64
	lines  []evidence.Line
}

func (t *tail) read() ([]evidence.Line, error) {
	f, err := os.Open(t.name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	text = text[:strings.LastIndexByte(string(text), '\n')+1]
	more, err := evidence.Read(strings.NewReader(string(text)))
	t.offset += int64(len(text))
	t.lines = append(t.lines, more...)
	return t.lines, err
}

// await waits until the evidence is such that ok.
func (c *cluster) await(what string, ok func([]evidence.Line) bool) {
	c.Helper()
	again, late := time.NewTicker(look), time.NewTimer(patience)
	defer again.Stop()
	defer late.Stop()
	for {
		lines, err := c.lines.read()
		if err != nil {
			c.Fatal(err)
		}
		if ok(lines) {
			return
		}
		select {
		case <-again.C:
			c.alive()
		case <-late.C:
			for _, s := range c.servers {
				c.Logf("%s:\n%s", s.machine.ip, s.log())
			}
			c.Fatalf("waited %v for %s", patience, what)
		}
	}
}

// alive sees that no server has ended that nobody has ended.
func (c *cluster) alive() {
	c.Helper()
	for _, s := range c.servers {
		select {
		case <-s.running.ended:
			if !s.running.asked {
				c.Fatalf("%s has ended: %v\n%s", s.machine.ip, s.running.err, s.log())
			}
		default:
		}
	}
}

// settle waits until every server and every item has begun a run of an instant
// after a time.
func (c *cluster) settle(after int64) {
	c.Helper()
	c.await("every item to run, and every server", func(lines []evidence.Line) bool {
		waiting := c.idle(lines, after)
		for _, j := range jobs {
			for no := range j.Items {
				waiting[fmt.Sprint(j.Name, no)] = true
			}
		}
		for _, l := range lines {
			if l.Word == "start" && l.Instant > after {
				delete(waiting, fmt.Sprint(l.Job, l.Item))
			}
		}
		return len(waiting) == 0
	})
}

// idle are the addresses of servers that have begun no run of an instant after
// a time.
func (c *cluster) idle(lines []evidence.Line, after int64) map[string]bool {
	idle := map[string]bool{}
	for _, s := range c.servers {
		idle[s.machine.ip] = true
	}
	for _, l := range lines {
		if l.Word == "start" && l.Instant > after {
			delete(idle, job.InstanceID(l.Server).IP())
		}
	}
	return idle
}

// moved waits until every item that a server had at a time runs elsewhere.
func (c *cluster) moved(s *server, at int64) {
	c.Helper()
	c.await("all its items to run elsewhere", func(lines []evidence.Line) bool {
		had := map[string]bool{}
		for _, l := range lines {
			if item := fmt.Sprint(l.Job, l.Item); l.Word == "start" {
				switch own := job.InstanceID(l.Server).IP() == s.machine.ip; {
				case l.At <= at:
					had[item] = own
				case !own:
					had[item] = false
				}
			}
		}
		for _, still := range had {
			if still {
				return false
			}
		}
		return true
	})
}

// pass lets time go by.
func (c *cluster) pass(d time.Duration) {
	c.Helper()
	until := time.Now().Add(d)
	c.await("time to pass", func([]evidence.Line) bool { return time.Now().After(until) })
}

// amidst waits until a run of slow has begun, and others beside it, and tells
// which, and on which server.
func (c *cluster) amidst() (evidence.Line, *server) {
	c.Helper()
	begun := time.Now().UnixMilli()
	var found evidence.Line
	c.await("a run of slow", func(lines []evidence.Line) bool {
		for _, l := range lines {
			switch {
			case l.Job != "slow" || l.At < begun:
			case l.Word == "start" && found.Word == "":
				found = l
			case l.Word == "beat" && l.Token == found.Token && l.Item == found.Item && l.At-found.At > amidstAfter:
				return true
			}
		}
		return false
	})
	return found, c.at(found.Server)
}

// amidstAfter is how many milliseconds after the start of the run.
const amidstAfter = 400

// at finds the server of an instance.
func (c *cluster) at(instance string) *server {
	c.Helper()
	for _, s := range c.servers {
		if s.machine.ip == job.InstanceID(instance).IP() {
			return s
		}
	}
	c.Fatalf("no server of ours is %s", instance)
	return nil
}

// takenOver waits until a run has started once more elsewhere.
func (c *cluster) takenOver(run evidence.Line) {
	c.Helper()
	c.await("a second attempt elsewhere", func(lines []evidence.Line) bool {
		for _, l := range lines {
			if l.Word == "start" && l.Job == run.Job && l.Item == run.Item && l.Instant == run.Instant && l.Attempt > run.Attempt && l.Server != run.Server {
				return true
			}
		}
		return false
	})
}

// hit notes that a fault hits a server now.
func (c *cluster) hit(s *server) {
	c.input.Hit = append(c.input.Hit, evidence.Moment{Server: s.machine.ip, At: time.Now().UnixMilli()})
}

// lastHit is when that was.
func (c *cluster) lastHit() int64 { return c.input.Hit[len(c.input.Hit)-1].At }

// judge lets the cluster settle after the fault, stops it, and compares what
// its guests told with what its histories say.
func (c *cluster) judge() evidence.Report {
	c.Helper()
	c.input.To = time.Now().UnixMilli()
	c.settle(c.input.To)
	for _, s := range c.servers {
		s.askToStop()
	}
	for _, s := range c.servers {
		if err := s.stopped(); err != nil {
			c.Error(err)
		}
		c.input.Rows = append(c.input.Rows, s.rows()...)
	}
	c.input.Written = map[int64]bool{}
	for _, s := range c.ensemble.servers {
		for _, t := range s.Log() {
			c.input.Written[t.Zxid] = true
		}
	}
	f, err := os.Open(c.lines.name)
	if err != nil {
		c.Fatal(err)
	}
	defer f.Close()
	if c.input.Lines, err = evidence.Read(f); err != nil {
		c.Fatal(err)
	}
	return evidence.Check(c.input)
}

// keep saves what the ensemble has written, beside all else, for whoever looks
// for a fault.
func (c *cluster) keep() {
	c.Helper()
	for i, s := range c.ensemble.servers {
		if err := os.CopyFS(filepath.Join(c.dir, fmt.Sprint("zk", i+1)), os.DirFS(s.Dir())); err != nil {
			c.Error(err)
		}
	}
	c.Logf("evidence, logs, histories and ZooKeeper's data are in %s", c.dir)
}

// ensemble is a ZooKeeper of several servers, each on a machine of its own.
type ensemble struct {
	machines []machine
	servers  []*zktest.Server
}

func newEnsemble(t *testing.T, n *network, size int) ensemble {
	t.Helper()
	var e ensemble
	var hosts []zktest.Host
	for i := range size {
		m := n.machine(fmt.Sprint("zk", i+1))
		e.machines = append(e.machines, m)
		hosts = append(hosts, zktest.Host{IP: m.ip, Enter: m.enter()})
	}
	release := zktest.Newer
	if *debian {
		release = zktest.Debian
	}
	e.servers = zktest.StartEnsembleOn(t, release(t), hosts, zktest.Options{Tick: 500 * time.Millisecond})
	return e
}

// others are all machines but one.
func (e ensemble) others(one int) []machine {
	return slices.Concat(e.machines[:one], e.machines[one+1:])
}

func (e ensemble) addresses() []string {
	var all []string
	for _, s := range e.servers {
		all = append(all, s.Address())
	}
	return all
}
