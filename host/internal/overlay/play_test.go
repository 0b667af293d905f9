package overlay

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	play = flag.Bool("mutants", false, "play every mutant; else only look whether each can be made")
	only = flag.String("only", "", "play the mutants whose names match this expression")
)

// mutant is the program without a piece of a function, together with the tests of a
// package that must fail.
type mutant struct {
	name    string
	promise string // the promise that the mutant breaks
	edits   []Edit
	noticed notice
}

// notice names tests: those of the package in a folder that match an expression.
type notice struct{ dir, tests string }

// patience is how long tests run at most. A mutant may wait forever.
const patience = "1m"

// TestMutants runs the code around the core without one of its pieces: the loop, the
// session and the adapter for ZooKeeper. Tests that pass without a mutant must fail with
// it. Without the flag it only checks that the edits apply, and that the tests exist.
func TestMutants(t *testing.T) {
	all := mutants()
	o := New()
	for k, m := range all {
		if slices.ContainsFunc(all[:k], func(o mutant) bool { return o.name == m.name }) {
			t.Errorf("two mutants are called %q", m.name)
		}
		if err := o.Add(k+1, m.edits); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if !m.noticed.exist(t) {
			t.Errorf("%s: %s has no test %s", m.name, m.noticed.dir, m.noticed.tests)
		}
	}
	if !*play || t.Failed() {
		return
	}
	wanted := regexp.MustCompile(*only)
	b := builds{o: o, t: t, binaries: map[string]string{}}
	sound := map[notice]bool{}
	for k, m := range all {
		if !wanted.MatchString(m.name) {
			continue
		}
		if n := m.noticed; !sound[n] {
			sound[n] = true
			if out, ok := b.run(n, 0); !ok {
				t.Errorf("%s of %s fail without a mutant:\n%s", n.tests, n.dir, out)
			}
		}
		begun := time.Now()
		out, survived := b.run(m.noticed, k+1)
		if survived {
			t.Errorf("%s survived: %s\n%s", m.name, m.promise, out)
		}
		t.Logf("%-34s %-76s %5.1f s", m.name, m.promise, time.Since(begun).Seconds())
	}
}

// builds are the test programs of packages, with all mutants in them.
type builds struct {
	o        *Overlay
	t        *testing.T
	binaries map[string]string // by folder
}

func (b *builds) binary(dir string) string {
	b.t.Helper()
	if b.binaries[dir] == "" {
		binary, err := b.o.Build(b.t.Context(), dir, b.t.TempDir())
		if err != nil {
			b.t.Fatal(err)
		}
		b.binaries[dir] = binary
	}
	return b.binaries[dir]
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// exist reports whether the folder has a test with a matching name.
func (n notice) exist(t *testing.T) bool {
	name, _, _ := strings.Cut(n.tests, "/")
	wanted := regexp.MustCompile(name)
	files, err := filepath.Glob(filepath.Join(n.dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			if wanted.Match(m[1]) {
				return true
			}
		}
	}
	return false
}

// run runs tests as the mutant with the given number; 0 is none.
func (b *builds) run(n notice, number int) (out string, passed bool) {
	cmd := exec.CommandContext(b.t.Context(), b.binary(n.dir), "-test.run", n.tests, "-test.timeout", patience)
	cmd.Dir, cmd.Env = filepath.Clean(n.dir), append(os.Environ(), fmt.Sprintf("%s=%d", NumberVariable, number))
	text, err := cmd.CombinedOutput()
	if bytes.Contains(text, []byte("no tests to run")) {
		b.t.Fatalf("%s has no test %s", n.dir, n.tests)
	}
	if len(text) > 4000 {
		text = text[:4000]
	}
	return string(text), err == nil
}
