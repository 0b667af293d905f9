package golden

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmjob/wasmjob/host/job/recorded"
)

//go:generate go test -run ^TestDifferencesPage$ -update .

var update = flag.Bool("update", false, "write the page of differences anew")

// TestDifferencesPage checks that docs/DIFFERENCES.md is what the comparison allows and
// demands.
func TestDifferencesPage(t *testing.T) {
	t.Parallel()
	page := filepath.Join(recorded.Root(t), "docs", "DIFFERENCES.md")
	want := differencesPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/DIFFERENCES.md is not what the comparison says: run make generate (%v)", err)
	}
}

func differencesPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Differences from ElasticJob's own writes

Generated from the tables in host/internal/sim/golden by ` + "`make generate`" + `; do not edit.

Members of ElasticJob 2.1.5 were recorded at work. A test has members of wasmjobd go through the same starts, instants, operators'
writes and deaths. It compares what both have written, node by node: the states that a node went through, and the whole tree at the
recorded moments. Nodes below ` + "`wasm`" + ` and the places in latches are not compared. The text of ` + "`config`" + ` and operators' writes must
be the same to the byte. The test fails if a difference has no line in this table, or if a line has no difference any more. It runs
in virtual time and on a real ZooKeeper, and the differences must be the same.

| difference | members of ElasticJob 2.1.5 | members of wasmjobd | why |
|---|---|---|---|
`)
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.key, l.theirs, l.here, l.why)
	}
	b.WriteString("\n## Order that both keep\n\nA member of ElasticJob relies on this order. The test checks it at each transaction, in what our members write and in the recordings.\n\n")
	for _, r := range rules {
		b.WriteString("- **" + r.key + "**")
		if r.ours {
			b.WriteString(" (of our members alone)")
		}
		if r.note != "" {
			b.WriteString(": " + r.note)
		}
		b.WriteString(".\n")
	}
	b.WriteString("\n## Left out\n\n")
	for _, key := range keys(leftOut, func(l struct{ key, prefix string }) string { return l.key }) {
		b.WriteString("- **" + key + "**: the test does not compare a recorded tree between two writes of ElasticJob if these are one transaction of ours, or a difference of the table.\n")
	}
	return b.Bytes()
}
