package embedded_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// victimDir, if set, makes the test binary the child of TestKill9, which writes to this
// directory.
const victimDir = "WASMJOBD_TEST_VICTIM_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimDir); dir != "" {
		if err := victim(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// victim writes until it is killed, in several sessions at once, and prints what was
// acknowledged.
func victim(dir string) error {
	relaxed := func(ops []registry.Op) bool { return strings.HasPrefix(ops[0].Path, "/relaxed") }
	r, err := embedded.Open(dir, embedded.Options{Relaxed: relaxed, SnapshotBytes: 30_000})
	if err != nil {
		return err
	}
	ctx := context.Background()
	const writers = 4
	errs := make(chan error)
	for w := range writers {
		s, err := r.Open(ctx, nil)
		if err != nil {
			return err
		}
		go func() { errs <- write(ctx, s, w) }()
	}
	return <-errs
}

// write sets two nodes in turn to a rising number.
func write(ctx context.Context, s registry.Session, w int) error {
	paths := []string{fmt.Sprintf("/waited-%d", w), fmt.Sprintf("/relaxed-%d", w)}
	start := 0
	for _, path := range paths {
		n, err := s.Read(ctx, path)
		if err == nil && !n.Exists {
			_, err = s.Commit(ctx, registry.Op{Kind: registry.Create, Path: path, Data: []byte("0")})
		}
		if err != nil {
			return err
		}
		if n.Exists {
			start = max(start, number(n))
		}
	}
	for i := start + 1; ; i++ {
		path := paths[i%2]
		// The ephemeral node must not be there after the kill.
		ops := []registry.Op{{Kind: registry.Set, Path: path, Data: fmt.Append(nil, i), Version: registry.AnyVersion}}
		if i == start+1 {
			ops = append(ops, registry.Op{Kind: registry.CreateEphemeral, Path: path + "/e"})
		}
		receipt, err := s.Commit(ctx, ops...)
		if err != nil {
			return err
		}
		// A single write, so that lines do not mix and none is printed in part.
		if _, err := fmt.Fprintln(os.Stdout, path, i, receipt.Revision); err != nil {
			return err
		}
	}
}

func number(n registry.Node) int {
	var i int
	if _, err := fmt.Sscan(string(n.Data), &i); err != nil {
		return -1
	}
	return i
}

func TestKill9_of_a_real_process_loses_nothing_acknowledged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 5))
	var revision int64
	total := 0
	for round := range 6 {
		acknowledged := map[string]int{}
		for _, line := range killedAfter(t, dir, 1+rng.IntN(1500)) {
			var path string
			var i int
			var rev int64
			if _, err := fmt.Sscan(line, &path, &i, &rev); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			acknowledged[path] = i
			revision = max(revision, rev)
			total++
		}
		r := openAt(t, dir, embedded.Options{})
		s := join(t, r, nil)
		for path, i := range acknowledged {
			n := read(t, s, path)
			if got := number(n); got < i || got > i+2 {
				t.Errorf("round %d: %s is %d, acknowledged %d", round, path, got, i)
			}
			if len(n.Children) > 0 {
				t.Errorf("round %d: %s outlived its session", round, n.Children)
			}
		}
		if got := commit(t, s, set("/waited-0", "0")).Revision; got <= revision {
			t.Errorf("round %d: revision %d after %d", round, got, revision)
		}
		closed(t, r)
	}
	t.Logf("%d acknowledged commits", total)
}

// killedAfter runs a victim, kills it once it has acknowledged a number of commits, and returns
// all lines that it printed.
func killedAfter(t *testing.T, dir string, commits int) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), victimDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for scan := bufio.NewScanner(out); scan.Scan(); {
		lines = append(lines, scan.Text())
		if len(lines) == commits {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := child.Wait(); err == nil || len(lines) < commits {
		t.Fatalf("the victim ended by itself after %d commits: %v", len(lines), err)
	}
	return lines
}
