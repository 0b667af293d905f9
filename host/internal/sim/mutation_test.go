package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	mutants = flag.Bool("mutants", false, "build and run every mutant; else only look whether their texts fit")
	only    = flag.String("only", "", "run the mutants whose names match this expression")
	budget  = flag.Int("budget", 10000, "seeds that a mutant may survive")
)

const (
	atOnce   = 2                // mutants at a time
	patience = 10 * time.Minute // for the seeds of one mutant
)

// mutant is the sources without one fence or one rule.
type mutant struct {
	name  string
	rule  string // what the sources say and the mutant does not
	edits []edit
}

// edit replaces a text that occurs exactly once in the file.
type edit struct{ file, old, new string }

// verdict on a mutant.
type verdict struct {
	invariant string // "" if it survived
	seed      string
	took      time.Duration
	err       error
}

// TestMutants takes each rule out in turn: some seed must break an invariant.
// Mutants are made by an overlay of the compiler: nothing in the sources knows
// of them. Without the flag the test only sees to it that they still apply.
func TestMutants(t *testing.T) {
	all := slicesOf(recordMutants(), clusterMutants(), mirrorMutants(), wordMutants(), besideMutants())
	names := map[string]bool{}
	for _, m := range all {
		if names[m.name] {
			t.Errorf("two mutants are called %q", m.name)
		}
		names[m.name] = true
		if _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if !*mutants || t.Failed() {
		return
	}
	wanted := regexp.MustCompile(*only)
	table := make([]string, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for k, m := range all {
		if !wanted.MatchString(m.name) {
			continue
		}
		dir := t.TempDir()
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v := m.run(t.Context(), dir)
			switch {
			case v.err != nil:
				t.Errorf("%s: %v", m.name, v.err)
			case v.invariant == "":
				t.Errorf("%s survived %d seeds: %s", m.name, *budget, m.rule)
			}
			table[k] = fmt.Sprintf("%-30s %-78s %-22s %7s %5.1f", m.name, m.rule, v.invariant, v.seed, v.took.Seconds())
			t.Log(table[k])
		})
	}
	wg.Wait()
	fmt.Printf("%-30s %-78s %-22s %7s %5s\n", "mutant", "rule", "invariant", "seed", "s")
	for _, line := range table {
		if line != "" {
			fmt.Println(line)
		}
	}
}

func slicesOf(groups ...[]mutant) []mutant {
	var all []mutant
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// apply gives the changed text of each file of the mutant, by path.
func (m mutant) apply() (map[string]string, error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		path, err := filepath.Abs(filepath.Join("..", e.file))
		if err != nil {
			return nil, err
		}
		if texts[path] == "" {
			b, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			texts[path] = string(b)
		}
		if n := strings.Count(texts[path], e.old); n != 1 {
			return nil, fmt.Errorf("%s has %d times, not once:\n%s", e.file, n, e.old)
		}
		texts[path] = strings.Replace(texts[path], e.old, e.new, 1)
	}
	return texts, nil
}

// build compiles the tests of this package with the mutant in place.
func (m mutant) build(ctx context.Context, dir string) (string, error) {
	texts, err := m.apply()
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for path, text := range texts {
		to := filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[path] = to
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", file, "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return binary, nil
}

var (
	broken  = regexp.MustCompile(`broken seed (\d+) invariant "([^"]*)"`)
	reached = regexp.MustCompile(`--- PASS: TestSeeds`)
)

// run plays the scenarios, and simulates seeds until one breaks.
func (m mutant) run(ctx context.Context, dir string) verdict {
	binary, err := m.build(ctx, dir)
	if err != nil {
		return verdict{err: err}
	}
	defer os.Remove(binary)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^(TestScenarios|TestSeeds)$", "-test.v", "-first", fmt.Sprintf("-seeds=%d", *budget))
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	v := verdict{took: time.Since(start)}
	switch found := broken.FindSubmatch(out.Bytes()); {
	case found != nil:
		v.seed, v.invariant = string(found[1]), string(found[2])
	case bytes.Contains(out.Bytes(), []byte("panic: ")):
		v.invariant = "panic"
	case reached.Match(out.Bytes()), errors.Is(ctx.Err(), context.DeadlineExceeded):
	default:
		v.err = fmt.Errorf("%w\n%s", err, out.Bytes())
	}
	return v
}
