package arch

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// counts are numbers in documents that count something: files, with a pattern for their
// names, or lines of a file, with the beginning of such a line.
var counts = []struct{ doc, text, of, row string }{
	{"docs/STATUS.md", "); %s runs that broke a promise, ", "host/internal/sim/testdata/schedules/*.gz", ""},
	{"docs/STATUS.md", "a promise, and %s that kill rare mutants", "host/internal/sim/testdata/schedules/mutants/*.gz", ""},
	{"docs/STATUS.md", "a part of `make sim-mutants`: %s, each with", "host/internal/overlay/mutants_test.go", `(?m)^\t\t\{"`},
	{"docs/STATUS.md", "`make upgrade`: %s stories", "test/faults/upgrade_test.go", `(?m)^\t\{"[a-z-]+", [a-z]+, \d, `},
}

var numberWords = strings.Fields("no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen")

// TestCountsOfDocuments fails if something was added or removed but the number was not
// updated.
func TestCountsOfDocuments(t *testing.T) {
	t.Parallel()
	p := tree(t)
	for _, c := range counts {
		files, err := filepath.Glob(filepath.Join(p.root, c.of))
		if err != nil {
			t.Fatal(err)
		}
		n := len(files)
		if c.row != "" {
			n = len(regexp.MustCompile(c.row).FindAllString(p.read(t, c.of), -1))
		}
		if n == 0 || !countIsSaid(p.read(t, c.doc), c.text, n) {
			t.Errorf("%s does not say %q: there are %d in %s", c.doc, fmt.Sprintf(c.text, fmt.Sprint(n)), n, c.of)
		}
	}
	for text, want := range map[string]bool{"has 3 parts": true, "has three parts": true, "has 13 parts": false, "has two parts": false} {
		if countIsSaid(text, "has %s parts", 3) != want {
			t.Errorf("%q says that there are 3: it is not %v", text, want)
		}
	}
}

// countIsSaid reports whether a text has the number, as digits or as a word.
func countIsSaid(text, form string, n int) bool {
	said := []string{fmt.Sprint(n)}
	if n < len(numberWords) {
		said = append(said, numberWords[n])
	}
	return slices.ContainsFunc(said, func(s string) bool { return strings.Contains(text, fmt.Sprintf(form, s)) })
}
