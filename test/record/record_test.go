package record

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

var (
	want = flag.Bool("record", false, "record what members of earlier releases write, and compare it with what is kept")
	keep = flag.Bool("keep", false, "with -record: replace what is kept")
)

// release is one of ElasticJob, with what its members play.
type release struct {
	name   string // of the folder with its Java program
	folder string // of its recordings
	plays  []scenario
}

var releases = []release{
	{"1.0", "ej10", []scenario{{"stop", stopped}}},
	{"1", "ej1", append([]scenario{{"sequence", sequence}, {"throughput", throughput}}, scenarios...)},
	{"2.0", "ej20", append([]scenario{{"dataflow", dataflow}}, scenarios...)},
}

// TestRecord plays each scenario with real members, and compares what they write with what
// is kept. On a busy machine a member may lose its session of two seconds, and writes more.
func TestRecord(t *testing.T) {
	if !*want {
		return // it needs Java, and minutes: make record
	}
	for _, r := range releases {
		t.Run(r.folder, func(t *testing.T) {
			classpath := buildJava(t, r.name)
			for _, sc := range r.plays {
				t.Run(sc.name, func(t *testing.T) {
					t.Parallel()
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

// TestKept: each recording is that of a scenario.
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

// Names that are never the same twice: places in queues, items, addresses. So are values
// that are moments, items or addresses.
var (
	changing = regexp.MustCompile(`(/)(_c_[^/]+|current\d+|\d+(\.\d+){3}|\d+)`)
	numbers  = regexp.MustCompile(`^[\d,.]+$`)
)
