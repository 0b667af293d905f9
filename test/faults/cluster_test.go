package faults

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

const (
	// session is the time-out of the servers' sessions.
	session = 3 * time.Second
	// patience is how long a test waits at most.
	patience = 90 * time.Second
	// look is the interval of checks.
	look = 20 * time.Millisecond
)

// jobs are the jobs of testdata/jobs.toml. The instants of slow are far apart, so its
// runs are taken over; for the other jobs the next instant has come by then.
func jobs(slow tempo) []evidence.Job {
	return []evidence.Job{
		{Name: "quick", Items: 4, Every: time.Second},
		{Name: "busy", Items: 3, Every: time.Second},
		{Name: "slow", Items: 6, Every: slow.every},
		{Name: "flow", Items: 2, Every: 2 * time.Second, Batch: 10},
	}
}

// tempo is how often slow is due, and how long its runs last.
type tempo struct{ every, lasts time.Duration }

// usual is the tempo of slow for most faults.
var usual = tempo{10 * time.Second, 5 * time.Second}

// cluster is the set of servers for one fault.
type cluster struct {
	*testing.T
	net      *network
	subnet   string // used without a network
	ensemble ensemble
	slow     tempo
	files    []string // configuration files of its servers
	name     string
	dir      string
	lines    *tail
	servers  []*server

	input evidence.Input // the fault adds to it
}

// newCluster starts a server on each machine and waits until all run something. knows
// returns the ZooKeeper servers that the n-th server connects to.
func newCluster(t *testing.T, n *network, e ensemble, machines []machine, slow tempo, knows func(n int) []string) *cluster {
	t.Helper()
	c := emptyCluster(t, e, slow)
	c.net, c.files = n, append(c.files, commands)
	c.input.Jobs = append(c.input.Jobs, evidence.Job{Name: commandJob, Items: 3, Every: slow.every, Command: true})
	for i, m := range machines {
		c.add(m, built, knows(i))
	}
	c.begin()
	return c
}

// emptyCluster returns a cluster without servers.
func emptyCluster(t *testing.T, e ensemble, slow tempo) *cluster {
	t.Helper()
	name := filepath.Base(t.Name())
	c := &cluster{T: t, ensemble: e, slow: slow, files: []string{"testdata/zookeeper.toml"}, name: name, dir: filepath.Join(workDir(t), name)}
	c.input.Jobs = jobs(slow)
	c.lines = &tail{name: filepath.Join(c.dir, "evidence", "lines")}
	if err := os.MkdirAll(filepath.Join(c.dir, "evidence"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			s.kill()
		}
	})
	return c
}

// add starts a server that connects to some servers of ZooKeeper.
func (c *cluster) add(m machine, program string, zk []string) *server {
	c.Helper()
	s := &server{cluster: c, machine: m, program: program, dir: filepath.Join(c.dir, m.ip), zk: zk}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		c.Fatal(err)
	}
	s.start()
	c.servers = append(c.servers, s)
	return s
}

// begin waits until every server runs something; from then on everything is checked.
// Commands need no compilation and run before the rest.
func (c *cluster) begin() {
	c.Helper()
	c.await("every server to run something", func(lines []evidence.Line) bool {
		return len(c.idle(slices.DeleteFunc(slices.Clone(lines), func(l evidence.Line) bool { return l.Job == commandJob }), 0)) == 0
	})
	c.input.From = time.Now().UnixMilli()
}

// workDir keeps the files of servers, to help explain a fault.
func workDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(*buildDir, "work"))
	if err != nil {
		t.Fatal(err)
	}
	return dir
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

// await waits until the evidence satisfies ok.
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

// alive checks that no server ended by itself.
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

// settle waits until every server and every item has begun a run of an instant after a
// time. Commands, which last longer, are due as often as slow.
func (c *cluster) settle(after int64) {
	c.Helper()
	c.await("every item to run, and every server", func(lines []evidence.Line) bool {
		waiting := c.idle(lines, after)
		for _, j := range c.input.Jobs {
			if j.Command {
				continue
			}
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

// idle returns the addresses of servers that have begun no run of an instant after a
// time.
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

// moved waits until every item that a server owned at a time runs elsewhere.
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

// pass waits for d.
func (c *cluster) pass(d time.Duration) {
	c.Helper()
	until := time.Now().Add(d)
	c.await("time to pass", func([]evidence.Line) bool { return time.Now().After(until) })
}

// amidst waits until a run of slow has begun while others run, and returns the run and
// its server.
func (c *cluster) amidst() (evidence.Line, *server) {
	c.Helper()
	return c.amidstAt("")
}

// amidstAt waits for a run on the server with an address; empty for any server.
func (c *cluster) amidstAt(ip string) (evidence.Line, *server) {
	c.Helper()
	begun := time.Now().UnixMilli()
	var found evidence.Line
	c.await("a run of slow", func(lines []evidence.Line) bool {
		starts := map[int]evidence.Line{} // by item
		for _, l := range lines {
			switch {
			case l.Job != "slow" || l.At < begun || ip != "" && job.InstanceID(l.Server).IP() != ip:
			case l.Word == "start":
				starts[l.Item] = l
			case l.Word == "beat" && l.Token == starts[l.Item].Token && l.At-starts[l.Item].At > amidstAfter:
				found = starts[l.Item]
				return true
			}
		}
		return false
	})
	return found, c.at(found.Server)
}

// amidstAfter is the time of amidst after the start of the run, in ms.
const amidstAfter = 400

// at returns the server of an instance.
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

// takenOver waits until a run has started again elsewhere.
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

// hit records that a fault hits a server now.
func (c *cluster) hit(s *server) {
	c.input.Hit = append(c.input.Hit, evidence.Moment{Server: s.machine.ip, At: time.Now().UnixMilli()})
}

// lastHit returns the time of the last fault.
func (c *cluster) lastHit() int64 { return c.input.Hit[len(c.input.Hit)-1].At }

// check lets the cluster settle after the fault, stops it, and compares the guests'
// reports with the rows of its histories.
func (c *cluster) check() evidence.Report {
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
	for _, t := range c.ensemble.log() {
		c.input.Written[t.Zxid] = true
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

// verdict returns the cluster's line of the table. It logs the findings and stores them.
func (c *cluster) verdict() evidence.Named {
	c.Helper()
	r := c.check()
	for i, f := range r.Findings {
		if i == 20 {
			c.Errorf("and %d more", len(r.Findings)-i)
			break
		}
		c.Errorf("%s: %s", f.Kind, f.Text)
	}
	if len(r.Findings) > 0 {
		c.keep()
	}
	return evidence.Named{Name: c.name, Report: r}
}

// keep saves the ensemble's files with all others, for the analysis of a fault.
func (c *cluster) keep() {
	c.Helper()
	for i, s := range c.ensemble.servers {
		if err := os.CopyFS(filepath.Join(c.dir, fmt.Sprint("zk", i+1)), os.DirFS(s.Dir())); err != nil {
			c.Error(err)
		}
	}
	c.Logf("evidence, logs, histories and ZooKeeper's data are in %s", c.dir)
}
