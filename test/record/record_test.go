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

// release is one of ElasticJob, with the scenarios that only it can play.
type release struct {
	name   string // of the folder with its Java program
	folder string // of its recordings
	own    []scenario
}

var releases = []release{
	{"1", "ej1", []scenario{{"sequence", sequence}, {"throughput", throughput}}},
	{"2.0", "ej20", []scenario{{"dataflow", dataflow}}},
}

// TestRecord plays each scenario with real members. What it has written differs from
// what is kept in nothing but times, names in queues, and who of several was faster.
func TestRecord(t *testing.T) {
	if !*want {
		t.Skip("left out: make record")
	}
	for _, r := range releases {
		t.Run(r.folder, func(t *testing.T) {
			classpath := buildJava(t, r.name)
			for _, sc := range append(r.own, scenarios...) {
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
		for _, sc := range append(r.own, scenarios...) {
			names = append(names, sc.name)
		}
		slices.Sort(names)
		if kept := recorded.EarlierScenarios(t, r.folder); !slices.Equal(kept, names) {
			t.Errorf("%s: kept are %v, and played are %v", r.folder, kept, names)
		}
	}
}

// changing are the parts of paths and values that are never the same twice.
var changing = regexp.MustCompile(`_c_[0-9a-f-]{36}-latch-\d{10}|\d{13}`)
