package record

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

var (
	want = flag.Bool("record", false, "record what members of earlier releases write, and compare it with what is kept")
	keep = flag.Bool("keep", false, "with -record: replace what is kept")
	last = flag.Bool("last", false, "with -record: play nothing, and compare what was played last")
)

// release is a release of ElasticJob, with the scenarios of its members.
type release struct {
	name   string // the folder of its Java program
	folder string // the folder of its recordings
	plays  []scenario
}

var releases = []release{
	{"1.0", "ej10", []scenario{{name: "stop", play: stopped}}},
	{"1", "ej1", append([]scenario{{name: "sequence", play: sequence}, {name: "throughput", play: throughput}}, scenarios...)},
	{"2.0", "ej20", append([]scenario{{name: "dataflow", play: dataflow}}, scenarios...)},
}

// TestRecord runs each scenario with real members, and compares their writes with the
// recording.
func TestRecord(t *testing.T) {
	if !*want {
		return // it needs Java, and minutes: make record
	}
	var played atomic.Int32
	t.Cleanup(func() {
		if played.Load() == 0 && !t.Failed() {
			t.Error("RECORD chooses no scenario; it is a release and a scenario: ej20/pause")
		}
	})
	if !*last {
		zooKeeper(t)
	}
	for _, r := range releases {
		t.Run(r.folder, func(t *testing.T) {
			classpath, known := "", r.known(t)
			if !*last {
				classpath = buildJava(t, r.name)
			}
			for _, sc := range r.plays {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					played.Add(1)
					text := play(t, classpath, r, sc)
					if *keep {
						put(t, filepath.Join("host/job/recorded/testdata/earlier", r.folder, sc.name+".json"), text)
						return
					}
					for _, d := range differences(r.shown(t, sc), look(t, text), known, sc.how) {
						t.Error(d)
					}
				})
			}
		})
	}
}

// zooKeeper fails the test if ZooKeeper is missing, where zktest would skip it.
func zooKeeper(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Skipped() {
			t.Error("nothing was played")
		}
	})
	zktest.Debian(t)
}

// play plays a scenario, and plays it again if a busy machine has disturbed it. It returns
// the recording, and writes it to build/record for the analysis of differences.
func play(t *testing.T, classpath string, r release, sc scenario) (text []byte) {
	t.Helper()
	name := filepath.Join("build/record", r.folder, sc.name+".json")
	if *last {
		text, err := os.ReadFile(filepath.Join(recorded.Root(t), name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for range plays {
		t.Run("play", func(t *testing.T) {
			s := newStage(t, classpath, r.name)
			sc.play(s)
			s.undisturbed()
			text = s.file()
		})
		if t.Failed() {
			t.FailNow()
		}
		if text != nil {
			put(t, name, text)
			return text
		}
	}
	t.Fatalf("%d plays were disturbed: the machine is too busy", plays)
	return nil
}

// plays is the maximum number of plays of a scenario.
const plays = 6

func put(t *testing.T, name string, text []byte) {
	t.Helper()
	name = filepath.Join(recorded.Root(t), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// kept returns the recording of a scenario.
func (r release) kept(t *testing.T, sc scenario) []byte {
	t.Helper()
	return recorded.Earlier(t, r.folder+"/"+sc.name+".json")
}

// shown returns the content of the recording of a scenario. If plays fork, it includes
// those of the other releases: they use the same Quartz and ZooKeeper client.
func (r release) shown(t *testing.T, sc scenario) seen {
	t.Helper()
	s := look(t, r.kept(t, sc))
	for _, other := range releases {
		if sc.how == forks && slices.ContainsFunc(other.plays, func(o scenario) bool { return o.name == sc.name }) {
			s.and(look(t, other.kept(t, sc)))
		}
	}
	return s
}

// known returns the content of all recordings of a release whose plays are fixed.
func (r release) known(t *testing.T) seen {
	t.Helper()
	all := nothing()
	for _, next := range []string{"leader/execution/necessary", "leader/execution/cleaning"} { // a leader may find nothing to clean
		all.orders[order("a member", "write leader/execution/cleaning", "delete "+next)] = true
	}
	for _, sc := range r.plays {
		if sc.how == fixed {
			all.and(look(t, r.kept(t, sc)))
		}
	}
	return all
}

// TestKept checks that each recording belongs to a scenario.
func TestKept(t *testing.T) {
	t.Parallel()
	for _, r := range releases {
		var names []string
		for _, sc := range r.plays {
			names = append(names, sc.name)
		}
		slices.Sort(names)
		if kept := recorded.EarlierScenarios(t, r.folder); !slices.Equal(kept, names) {
			t.Errorf("%s: kept are %v, and played are %v", r.folder, kept, names)
		}
	}
}
