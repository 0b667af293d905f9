package interop

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
	"github.com/wasmjob/wasmjob/test/interop/check"
)

var (
	enabled = flag.Bool("interop", false, "run Java members beside servers; it takes minutes")
	work    = flag.String("work", "", "where the scenarios leave what they have written, instead of build/interop/work")
	program = flag.String("program", "../../build/wasmjobd", "the server, as make builds it")
	version = flag.String("version", ej2, "of ElasticJob: "+ej2+" or "+ej3)
)

// The releases of ElasticJob, each of which has a folder in java.
const (
	ej2 = "2.1.5"
	ej3 = "3.0.4"
)

// layouts are the layouts of their jobs.
var layouts = map[string]string{ej2: "2.1", ej3: "3"}

// scenario is a sequence of events of a job and its members.
type scenario struct {
	name string
	job  definition
	play func(*cluster)
	only string // the release of ElasticJob that it is for; empty for each
}

// every is the time between the instants of most jobs here. A member of ElasticJob leaves
// out an instant that comes while it runs. With one second that would happen whenever the
// machine is busy for so long.
const every = 2 * time.Second

// usual is the job of most scenarios.
var usual = definition{cron: "0/2 * * * * ?", every: every, items: 6, work: 50 * time.Millisecond}

// scenarios are for both releases, except for those of the console of 2.1.5, and for
// shadow: doctor ignores a job of layout 3 that none of our servers has joined.
var scenarios = []scenario{
	{name: "java-alone", job: usual, play: javaAlone},
	{name: "java-leads", job: usual, play: javaLeads},
	{name: "wasmjobd-leads", job: usual, play: wasmjobdLeads},
	{name: "hands", job: usual, play: hands},
	{name: "migration", job: usual, play: migration},
	{name: "operate-java", job: usual, play: func(c *cluster) { operate(c, true) }},
	{name: "operate-wasmjobd", job: usual, play: func(c *cluster) { operate(c, false) }},
	{name: "trigger-java", job: byHand, play: func(c *cluster) { triggers(c, true) }},
	{name: "trigger-wasmjobd", job: byHand, play: func(c *cluster) { triggers(c, false) }},
	{name: "one-off-java", job: oneOff, play: func(c *cluster) { triggers(c, true) }, only: ej3},
	{name: "one-off-wasmjobd", job: oneOff, play: func(c *cluster) { triggers(c, false) }, only: ej3},
	{name: "digest", job: secret, play: digest},
	{name: "failover-java", job: longRuns, play: func(c *cluster) { failovers(c, true) }},
	{name: "failover-wasmjobd", job: longRuns, play: func(c *cluster) { failovers(c, false) }},
	{name: "listeners", job: waiting, play: listeners},
	{name: "listeners-two", job: waiting, play: listenersOfTwo},
	{name: "shadow", job: usual, play: shadow},
	{name: "tools-java", job: byHand, play: func(c *cluster) { useTools(c, true) }, only: ej2},
	{name: "tools-wasmjobd", job: byHand, play: func(c *cluster) { useTools(c, false) }, only: ej2},
}

// byHand is a job that runs only on triggers.
var byHand = definition{cron: never, items: 6, work: 50 * time.Millisecond}

// oneOff is a job without a cron, which runs only on triggers. Members of ElasticJob
// 2.1.5 refuse it.
var oneOff = definition{items: 6, work: 50 * time.Millisecond}

// secret is a job whose nodes only its members may access.
var secret = definition{cron: "0/2 * * * * ?", every: every, items: 6, work: 50 * time.Millisecond, digest: "team:s3cret"}

// longRuns has instants so far apart that the run of a dead member is taken over before
// the next one.
var longRuns = definition{cron: "0/10 * * * * ?", every: 10 * time.Second, items: 8, work: time.Second, failover: true}

// waiting is a job whose Java members wait for each other at start and end, for so long
// that they miss instants if one of them is missing.
var waiting = definition{cron: "0/4 * * * * ?", every: 4 * time.Second, items: 4, work: 50 * time.Millisecond, once: 3 * time.Second}

// TestInterop is the test of make interop, with TestHazards.
func TestInterop(t *testing.T) {
	if !*enabled {
		return // it needs Java, minutes and the built programs: make interop
	}
	t.Parallel()
	reports := play(t, ofVersion(scenarios))
	all := check.Together(reports)
	printTable(t, []check.Named{all})
	if slices.ContainsFunc(reports, func(n check.Named) bool { return n.Name == "" }) {
		return // only some scenarios were requested
	}
	for _, role := range []string{javaRole, oursRole} {
		if !slices.ContainsFunc(all.Rows, func(r check.Row) bool {
			return r.Role == role && r.Event == "steady" && r.Ticks >= enoughTicks
		}) {
			t.Errorf("fewer than %d steady ticks while %s", enoughTicks, role)
		}
	}
}

// ofVersion returns the scenarios for the tested release.
func ofVersion(all []scenario) []scenario {
	return slices.DeleteFunc(slices.Clone(all), func(sc scenario) bool { return sc.only != "" && sc.only != *version })
}

// printTable logs the table.
func printTable(t *testing.T, reports []check.Named) {
	t.Helper()
	var out strings.Builder
	if err := check.Table(&out, reports); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}

// play runs scenarios concurrently.
func play(t *testing.T, scenarios []scenario) []check.Named {
	t.Helper()
	s := newSetting(t)
	table := make([]check.Named, len(scenarios))
	t.Run("all", func(t *testing.T) {
		for i, sc := range scenarios {
			t.Run(sc.name, func(t *testing.T) {
				t.Parallel()
				c := newCluster(t, s, sc.name, sc.job)
				defer func() { // also if the scenario is aborted: the report may show why
					table[i] = check.Named{Name: sc.name, Report: c.report()}
					for _, f := range table[i].Findings[:min(len(table[i].Findings), 20)] {
						t.Error(f)
					}
					if t.Failed() {
						c.keep()
					}
				}()
				sc.play(c)
			})
		}
	})
	return table
}

// newSetting starts what scenarios share, or skips the test.
func newSetting(t *testing.T) setting {
	t.Helper()
	s := setting{classpath: buildJava(t), dir: *work}
	if s.dir == "" {
		s.dir = filepath.Join(buildDir(t), "work")
	}
	s.dir = filepath.Join(s.dir, t.Name())
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(s.dir + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatalf("another test works in %s: %v", s.dir, err)
	}
	if err := errors.Join(os.RemoveAll(s.dir), os.MkdirAll(s.dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	s.zk = zktest.Start(t, zktest.Debian(t), zktest.Options{})
	s.operator = startOperator(t, s.classpath, s.zk.Address(), filepath.Join(s.dir, "operator.log"))
	return s
}
