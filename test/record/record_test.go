package record

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

var (
	want = flag.Bool("record", false, "record what members of earlier releases write, and compare it with what is kept")
	keep = flag.Bool("keep", false, "with -record: replace what is kept")
)

// release is a release of ElasticJob, with the scenarios of its members.
type release struct {
	name   string // the folder of its Java program
	folder string // the folder of its recordings
	plays  []scenario
}

var releases = []release{
	{"1.0", "ej10", []scenario{{"stop", stopped}}},
	{"1", "ej1", append([]scenario{{"sequence", sequence}, {"throughput", throughput}}, scenarios...)},
	{"2.0", "ej20", append([]scenario{{"dataflow", dataflow}}, scenarios...)},
}

// TestRecord runs each scenario with real members, and compares their writes with the
// recording. On a busy machine a member may lose its session of two seconds, and then
// writes more.
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
	zooKeeper(t)
	for _, r := range releases {
		t.Run(r.folder, func(t *testing.T) {
			classpath := buildJava(t, r.name)
			for _, sc := range r.plays {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
					played.Add(1)
					s := newStage(t, classpath, r.name)
					sc.play(s)
					text := s.file()
					if *keep {
						name := filepath.Join(recorded.Root(t), "host/job/recorded/testdata/earlier", r.folder, sc.name+".json")
						if err := os.WriteFile(name, text, 0o600); err != nil {
							t.Fatal(err)
						}
						return
					}
					if sc.name == "one_ip" {
						return // two members race for each of its nodes
					}
					compare(t, recorded.Earlier(t, r.folder+"/"+sc.name+".json"), text)
				})
			}
		})
	}
}

// zooKeeper fails where zktest would leave a test out.
func zooKeeper(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		if t.Skipped() {
			t.Error("nothing was played")
		}
	})
	zktest.Debian(t)
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

// Parts of names that differ each time: places in queues, items, addresses. The same
// holds for values that are times, items or addresses.
var (
	changing = regexp.MustCompile(`(/)(_c_[^/]+|current\d+|\d+(\.\d+){3}|\d+)`)
	numbers  = regexp.MustCompile(`^[\d,.]+$`)
)
