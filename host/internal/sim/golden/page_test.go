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

Members of wasmjobd act what members of ElasticJob 2.1.5 were recorded doing: the same starts, instants, operators' writes and
deaths. A test compares each flow, node by node: the states that a node went through in either log, and the whole tree at the recorded
moments. Nodes below ` + "`wasm`" + ` and the places in latches are left out. The text of ` + "`config`" + ` and operators' writes are the same
to the byte. A difference that is not declared under one of these lines, or is no longer there, fails. The flows run twice, in virtual
time and on a real ZooKeeper, and must differ from ElasticJob in the same.

| line | ElasticJob 2.1.5 | here | why |
|---|---|---|---|
`)
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.key, l.theirs, l.here, l.why)
	}
	b.WriteString("\n## Order that both keep\n\nA Java member relies on these. They are checked at each transaction, in our logs and in the recorded ones.\n\n")
	for _, r := range rules {
		b.WriteString("- **" + r.key + "**")
		if r.ours {
			b.WriteString(", in our logs alone")
		}
		if r.note != "" {
			b.WriteString(": " + r.note)
		}
		b.WriteString(".\n")
	}
	b.WriteString("\n## Left out\n\n")
	for _, key := range keys(leftOut, func(l struct{ key, prefix string }) string { return l.key }) {
		b.WriteString("- **" + key + "**: a tree between two writes of ElasticJob that are one transaction here, or that stand under a line above.\n")
	}
	return b.Bytes()
}
