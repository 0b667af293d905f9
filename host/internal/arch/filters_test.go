package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchmarkOutput checks that .ci/bench.awk fails if a benchmark failed, and for no
// other output.
func TestBenchmarkOutput(t *testing.T) {
	t.Parallel()
	const figure = "pkg: example.org/a\nBenchmarkIt-2 \t 10\t 7.5 ns/op\n"
	for _, c := range []struct {
		name, output string
		fails        bool
	}{
		{"figures", figure + "PASS\nok  \texample.org/a\t1.2s\n", false},
		{"a note of a benchmark", figure + "--- BENCH: BenchmarkIt-2\n    it_test.go:7: 3 of 3\nPASS\nok  \texample.org/a\t1.2s\n", false},
		{"one left out", figure + "--- SKIP: BenchmarkOther\n    it_test.go:9: left out: no guest\nPASS\nok  \texample.org/a\t1.2s\n", false},
		{"one that failed", figure + "--- FAIL: BenchmarkOther\n    it_test.go:9: no\nFAIL\nFAIL\texample.org/a\t1.2s\n", true},
		{"a package that is not built", "FAIL\texample.org/a [build failed]\n", true},
		{"a panic", "panic: oh\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := filtered(t, ".ci/bench.awk", "0", c.output)
			if (err != nil) != c.fails {
				t.Errorf("fails: %v, want %v\n%s", err, c.fails, out)
			}
		})
	}
}

// TestTestOutput checks that .ci/testlog.awk ends with a list of what failed and what was
// left out, including guests.
func TestTestOutput(t *testing.T) {
	t.Parallel()
	const (
		guests = "guests: left out: tinygo: skipped: there is no tinygo\n"
		passed = "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \texample.org/a\t0.1s\n"
		left   = "=== RUN   TestB\n    b_test.go:3: left out: no java in PATH\n--- SKIP: TestB (0.00s)\nPASS\nok  \texample.org/b\t0.1s\n"
		failed = "=== RUN   TestC\n=== RUN   TestC/one\n    c_test.go:4: 3, not 4\n--- FAIL: TestC (0.00s)\n    --- FAIL: TestC/one (0.00s)\nFAIL\nFAIL\texample.org/c\t0.1s\n"
		panics = "=== RUN   TestD\npanic: oh\n\ngoroutine 1 [running]:\nFAIL\texample.org/d\t0.1s\n"
		broken = "# example.org/e\ne.go:3: undefined: f\n" + passed + "FAIL\texample.org/e [build failed]\n"
	)
	for _, c := range []struct {
		name, strict, output, end string
		fails                     bool
	}{
		{"all pass", "1", passed, "1 packages passed, 0 failed; tests: 1 passed, 0 failed, 0 left out\n", false},
		{"left out", "0", guests + passed + left, "2 packages passed, 0 failed; tests: 1 passed, 0 failed, 1 left out\nleft out:\n  guests of tinygo: there is no tinygo\n  TestB: no java in PATH\n", false},
		{"left out, strictly", "1", passed + left, "left out:\n  TestB: no java in PATH\nWASMJOBD_STRICT=1: nothing may be left out\n", true},
		{"failed", "0", failed + left + passed, "left out:\n  TestB: no java in PATH\nfailed (all that was printed is in build/test.log):\n  example.org/c: TestC/one: 3, not 4\n", true},
		{"no test says why", "0", panics + broken, "failed (all that was printed is in build/test.log):\n  example.org/d: panic: oh\n  example.org/e: [build failed]\n", true},
		{"nothing ran", "0", "go: no such package\n", "not all was run: see above\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := filtered(t, ".ci/testlog.awk", c.strict, c.output)
			if (err != nil) != c.fails {
				t.Errorf("fails: %v, want %v", err, c.fails)
			}
			if !strings.HasSuffix(out, c.end) {
				t.Errorf("it ends with\n%s\nnot with\n%s", out, c.end)
			}
			if strings.Contains(c.output, "undefined: f") && !strings.Contains(out, "undefined: f") {
				t.Errorf("what the compiler said is lost:\n%s", out)
			}
		})
	}
}

// filtered returns the output of an awk program for the output of a test run.
func filtered(t *testing.T, program, strict, output string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "awk", "-f", filepath.Join(tree(t).root, program))
	cmd.Env = append(os.Environ(), "WASMJOBD_STRICT="+strict)
	cmd.Stdin = strings.NewReader(output)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
