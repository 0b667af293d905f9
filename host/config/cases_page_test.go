package config

import (
	"bytes"
	flags "flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

//go:generate go test -run ^TestCaseKeysPage$ -update .

var update = flags.Bool("update", false, "write the table of the keys of cases anew")

// TestCaseKeysPage: CASEKEYS.md matches the schema of cases.
func TestCaseKeysPage(t *testing.T) {
	t.Parallel()
	const page = "../../docs/CASEKEYS.md"
	for _, k := range caseKeys() {
		if k.about == "" || k.unset == "" {
			t.Errorf("%s: say what it means, and what holds without it", k.path)
		}
	}
	want := caseKeysPage()
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("docs/CASEKEYS.md is not the table of the keys of cases: run make generate (%v)", err)
	}
}

func caseKeysPage() []byte {
	var b bytes.Buffer
	b.WriteString("# Keys of cases\n\nGenerated from host/config/cases.go by `make generate`; do not edit. [CASES](CASES.md) says what a case is. " +
		"In a key, the star stands for a name: for `METHOD URL` below `http`, and for an id below `instances`. The keys below `want` are what the run has to show.\n\n" +
		"A *flag* is true or false, *texts* are a table of texts, and *sums* one of numbers.\n\n" +
		"| key of a case | value | meaning | if left out |\n|---|---|---|---|\n")
	for _, k := range caseKeys() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", strings.TrimPrefix(k.path, "cases.*."), valueOf(k), k.about, k.unset)
	}
	return b.Bytes()
}

func valueOf(k key) string {
	switch k.takes {
	case word:
		return "`\"" + strings.Join(slices.Clone(k.words), "\"`, `\"") + "\"`"
	case number:
		if k.max > math.MaxInt32 {
			return fmt.Sprintf("%d or more", k.min)
		}
		return fmt.Sprintf("%d to %d", k.min, k.max)
	case size:
		return job.FormatSize(k.min) + " to " + job.FormatSize(k.max)
	}
	return string(k.takes)
}
