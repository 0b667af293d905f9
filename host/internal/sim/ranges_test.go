package sim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// seedRange is a range of seeds that were simulated with the same sources.
type seedRange struct {
	commit, tree string
	from, done   uint64 // done is the first seed that was not simulated
	rate         float64
	broken       []uint64
}

// seedRanges is the file in which each run stores what it has simulated, one line per
// run. A resumed run adds a line.
type seedRanges struct {
	file  string
	lines []seedRange
}

func (s seedRange) String() string {
	broken := "-"
	if len(s.broken) > 0 {
		broken = strings.Trim(strings.ReplaceAll(fmt.Sprint(s.broken), " ", ","), "[]")
	}
	return fmt.Sprintf("%s %s %d %d %.1f %s", s.commit, s.tree, s.from, s.done, s.rate, broken)
}

func parseSeedRange(line string) (seedRange, error) {
	words := strings.Split(line, " ")
	if len(words) != 6 {
		return seedRange{}, fmt.Errorf("a line of %d words, not 6", len(words))
	}
	s := seedRange{commit: words[0], tree: words[1]}
	var errs [3]error
	s.from, errs[0] = strconv.ParseUint(words[2], 10, 64)
	s.done, errs[1] = strconv.ParseUint(words[3], 10, 64)
	s.rate, errs[2] = strconv.ParseFloat(words[4], 64)
	for word := range strings.SplitSeq(words[5], ",") {
		if word == "-" {
			break
		}
		seed, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return seedRange{}, fmt.Errorf("broken seed: %w", err)
		}
		s.broken = append(s.broken, seed)
	}
	return s, errors.Join(errs[:]...)
}

func readSeedRanges(file string) (*seedRanges, error) {
	all := &seedRanges{file: file}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		s, err := parseSeedRange(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w; delete the file to begin anew", file, line, err)
		}
		all.lines = append(all.lines, s)
	}
	return all, nil
}

// write adds the state of this run. An interruption leaves the file as it was.
func (s *seedRanges) write(now seedRange) error {
	var text strings.Builder
	for _, line := range s.lines {
		fmt.Fprintln(&text, line)
	}
	fmt.Fprintln(&text, now)
	if err := os.WriteFile(s.file+".new", []byte(text.String()), 0o600); err != nil {
		return err
	}
	return os.Rename(s.file+".new", s.file)
}

// behind returns the seed after the newest line of these sources.
func (s *seedRanges) behind(tree string) (uint64, bool) {
	for _, line := range slices.Backward(s.lines) {
		if line.tree == tree {
			return line.done, true
		}
	}
	return 0, false
}

// resume returns where a run from one seed to another stopped, and which seeds had broken
// a promise by then. A run that was completed begins again.
func (s *seedRanges) resume(tree string, from, to uint64) (uint64, []uint64) {
	at, broken := from, []uint64(nil)
	for _, line := range s.lines {
		if line.tree == tree && line.from == at && line.done < to {
			at = line.done
			broken = append(broken, line.broken...)
		}
	}
	for _, line := range s.lines {
		if line.tree == tree && line.from == at && line.done >= to {
			return from, nil
		}
	}
	return at, broken
}

// sourcesID is a digest of the sources that decide what a seed means: the core and the
// simulator.
func sourcesID(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		`{{if and .Module .Module.Main}}{{$dir := .Dir}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}`, ".").Output()
	if err != nil {
		return "", fmt.Errorf("list the sources: %w", err)
	}
	h := sha256.New()
	for file := range strings.Lines(string(out)) {
		text, err := os.ReadFile(strings.TrimSuffix(file, "\n"))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}

// commitID returns the commit, with a + if the work tree differs; "none" outside of a
// clone.
func commitID(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "none"
	}
	id := strings.TrimSpace(string(out))
	if exec.CommandContext(ctx, "git", "diff", "--quiet", "HEAD").Run() != nil {
		id += "+"
	}
	return id
}

// seedOf draws the first seed of a range from a commit, or from the sources.
func seedOf(commit, tree string) uint64 {
	id := commit
	if commit == "none" {
		id = tree
	}
	seed, err := strconv.ParseUint(id[:8], 16, 64)
	if err != nil {
		panic(err) // the text has hexadecimal digits only
	}
	return seed
}

func TestRangesGoOnWhereTheyStopped(t *testing.T) {
	t.Parallel()
	file := t.TempDir() + "/seeds"
	all, err := readSeedRanges(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := all.behind("t1"); ok {
		t.Error("a run that never was has an end")
	}
	keep := func(s seedRange) {
		if err := all.write(s); err != nil {
			t.Fatal(err)
		}
		if all, err = readSeedRanges(file); err != nil {
			t.Fatal(err)
		}
	}
	keep(seedRange{commit: "c", tree: "t1", from: 100, done: 130, rate: 12.5, broken: []uint64{101, 105}})
	keep(seedRange{commit: "c+", tree: "t1", from: 130, done: 150, rate: 1})
	keep(seedRange{commit: "d", tree: "t2", from: 7, done: 9, rate: 1})
	for _, c := range []struct {
		tree              string
		from, to, at, bad uint64
	}{
		{"t1", 100, 200, 150, 2}, // goes on, with the broken seeds
		{"t1", 100, 150, 100, 0}, // was completed
		{"t1", 100, 120, 100, 0},
		{"t1", 130, 200, 150, 0},
		{"t1", 110, 200, 110, 0}, // another range
		{"t2", 100, 200, 100, 0}, // another tree
		{"t3", 7, 10, 7, 0},
	} {
		at, broken := all.resume(c.tree, c.from, c.to)
		if at != c.at || uint64(len(broken)) != c.bad {
			t.Errorf("on %s, %d to %d goes on at %d with %d broken, not at %d with %d", c.tree, c.from, c.to, at, len(broken), c.at, c.bad)
		}
	}
	if end, ok := all.behind("t1"); !ok || end != 150 {
		t.Errorf("the next range begins at %d", end)
	}
}
