package sim

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	record = flag.String("record", "", "seeds, with commas, whose schedules TestRecordedSchedules is to record")
	rename = flag.String("rename", "", "OLD=NEW: the function OLD is called NEW in the recorded schedules from now on")
)

const schedules = "testdata/schedules"

// known are the recorded schedules that still break a promise. Whoever mends
// what one shows takes its line away.
var known = map[string]string{}

// schedule is one run that broke a promise once, as it is kept: what a seed
// means changes with each draw that the simulator gains or loses, but not what
// was drawn.
type schedule struct {
	seed    uint64
	profile string
	promise string // that it broke
	at      int64  // when
	drawn   recording
}

// TestRecordedSchedules replays runs that broke a promise. None may do so again
// but those that are known to.
func TestRecordedSchedules(t *testing.T) {
	t.Parallel()
	if *record != "" {
		for seed := range strings.SplitSeq(*record, ",") {
			keepSchedule(t, seed)
		}
		return
	}
	files, err := filepath.Glob(schedules + "/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded schedules in %s: %v", schedules, err)
	}
	if *rename != "" {
		renamePlace(t, files)
		return
	}
	for _, name := range carriers {
		if !isFunction(name) {
			t.Fatalf("%s draws for its callers, but is no function here any more: mend the list of carriers", name)
		}
	}
	for seed := range known {
		if !slices.Contains(files, scheduleFile(seed)) {
			t.Errorf("seed %s is known to break a promise, but there is no %s: take its line out of known", seed, scheduleFile(seed))
		}
	}
	for _, file := range files {
		seed := strings.TrimSuffix(filepath.Base(file), ".gz")
		t.Run(seed, func(t *testing.T) {
			t.Parallel()
			s := readSchedule(t, file)
			for place := range s.drawn {
				if !isFunction(place) {
					t.Errorf("%s has draws of %s, which is no function here any more. If it has another name now, run\n"+
						"  go test ./host/internal/sim -run '^TestRecordedSchedules$' -args '-rename=%s=NEW'\n"+
						"and if it is gone, the same with -rename=%s= takes its draws out.", file, place, place, place)
				}
			}
			if !t.Failed() {
				s.judge(t, known[seed])
			}
		})
	}
}

// judge replays the schedule: it must break the promise that it is known to
// break, if any.
func (s *schedule) judge(t *testing.T, promise string) {
	t.Helper()
	b := s.replay(t, nil).Breach
	switch {
	case b == nil && promise != "":
		t.Errorf("it does not break %q any more: take its line out of known", promise)
	case b != nil && b.Invariant != promise:
		var story bytes.Buffer
		s.replay(t, &story)
		t.Errorf("it broke %q (when it was recorded: %q); the end of its story (-args -tail=0 tells all):\n%s", b.Invariant, s.promise, lastLines(story.String()))
	case b != nil && b.At != s.at:
		t.Logf("it breaks %q at %d µs, at %d µs when it was recorded", b.Invariant, b.At, s.at)
	}
}

func (s *schedule) replay(t *testing.T, trace io.Writer) Result {
	t.Helper()
	return runDrawn(s.seed, replayed(s.drawn), profileNamed(t, s.profile), trace)
}

func profileNamed(t *testing.T, name string) profile {
	t.Helper()
	all := profiles()
	k := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if k < 0 {
		t.Fatalf("a recorded schedule is of the profile %q, which is gone; a profile keeps its name", name)
	}
	return all[k]
}

// keepSchedule records a seed that breaks a promise, and sees to it that the
// replay breaks the same one at the same moment.
func keepSchedule(t *testing.T, text string) {
	t.Helper()
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	all := profiles()
	p := all[seed%uint64(len(all))]
	d, kept := recorded(seed)
	b := runDrawn(seed, d, p, nil).Breach
	if b == nil {
		t.Errorf("seed %d breaks no promise: there is nothing to keep", seed)
		return
	}
	file := scheduleFile(text)
	writeSchedule(t, file, &schedule{seed: seed, profile: p.name, promise: b.Invariant, at: b.At, drawn: kept})
	s := readSchedule(t, file)
	if again := s.replay(t, nil).Breach; again == nil || *again != *b {
		t.Errorf("seed %d: %v, and replayed: %v", seed, b, again)
	}
	size, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %q at %d µs, %d bytes", file, b.Invariant, b.At, size.Size())
}

// renamePlace gives the draws of a function to another one.
func renamePlace(t *testing.T, files []string) {
	t.Helper()
	was, is, ok := strings.Cut(*rename, "=")
	if !ok || was == "" || is != "" && !isFunction(is) {
		t.Fatalf("-rename=%s is not OLD=NEW with NEW a function of the simulator", *rename)
	}
	for _, file := range files {
		s := readSchedule(t, file)
		v := s.drawn[was]
		if v == nil {
			continue
		}
		delete(s.drawn, was)
		if s.drawn[is] != nil {
			t.Fatalf("%s has draws of both %s and %s", file, was, is)
		}
		if is != "" {
			s.drawn[is] = v
		}
		writeSchedule(t, file, s)
	}
}

func isFunction(name string) bool {
	for _, file := range functions() {
		if slices.ContainsFunc(file, func(e extent) bool { return e.name == name }) {
			return true
		}
	}
	return false
}

func scheduleFile(seed string) string { return schedules + "/" + seed + ".gz" }

// A schedule is kept as lines of text: what it is, then the values of each
// place, a line for each kind.

func writeSchedule(t *testing.T, file string, s *schedule) {
	t.Helper()
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(z, "%d %s %d %s\n", s.seed, s.profile, s.at, s.promise)
	for _, place := range slices.Sorted(maps.Keys(s.drawn)) {
		v := s.drawn[place]
		if len(v.chances) > 0 {
			fmt.Fprintf(z, "%s chances ", place)
			for _, yes := range v.chances {
				fmt.Fprint(z, map[bool]string{true: "1", false: "0"}[yes])
			}
			fmt.Fprintln(z)
		}
		if len(v.numbers) > 0 {
			fmt.Fprintf(z, "%s numbers %s\n", place, strings.Trim(fmt.Sprint(v.numbers), "[]"))
		}
		if len(v.shares) > 0 {
			fmt.Fprintf(z, "%s shares %s\n", place, strings.Trim(fmt.Sprint(v.shares), "[]"))
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readSchedule(t *testing.T, file string) *schedule {
	t.Helper()
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	s := &schedule{drawn: recording{}}
	for lines.Scan() {
		if s.profile == "" {
			head := strings.SplitN(lines.Text(), " ", 4)
			s.seed, s.profile, s.at, s.promise = parsed[uint64](t, head[0]), head[1], parsed[int64](t, head[2]), head[3]
			continue
		}
		s.read(t, strings.Fields(lines.Text()))
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return s
}

// read takes one line of values.
func (s *schedule) read(t *testing.T, words []string) {
	t.Helper()
	v := s.drawn.at(words[0])
	for _, word := range words[2:] {
		switch words[1] {
		case "chances":
			for _, c := range word {
				v.chances = append(v.chances, c == '1')
			}
		case "numbers":
			v.numbers = append(v.numbers, parsed[int64](t, word))
		case "shares":
			v.shares = append(v.shares, parsed[float64](t, word))
		}
	}
}

func parsed[T any](t *testing.T, text string) T {
	t.Helper()
	var x T
	if _, err := fmt.Sscan(text, &x); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return x
}
