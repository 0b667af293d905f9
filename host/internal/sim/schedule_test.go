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

// known lists recorded schedules that still break a promise. Remove the line when that is
// fixed.
var known = map[string]string{}

// schedule is a stored run that broke a promise. A seed changes its meaning with each
// draw that the simulator gains or loses; the drawn values do not.
type schedule struct {
	seed    uint64
	profile string
	promise string // the promise that it broke
	at      int64  // when
	drawn   recording
}

// TestRecordedSchedules replays runs that broke a promise, and runs that kill a mutant.
// None may break a promise without the mutant, except those in known.
func TestRecordedSchedules(t *testing.T) {
	t.Parallel()
	if *record != "" {
		for seed := range strings.SplitSeq(*record, ",") {
			keepSchedule(t, seed)
		}
		return
	}
	files := scheduleFiles(t)
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
		seed := strings.TrimSuffix(strings.TrimPrefix(file, schedules+"/"), ".gz")
		t.Run(seed, func(t *testing.T) {
			t.Parallel()
			s, err := readSchedule(file)
			must(t, err)
			for drawer := range s.drawn {
				if place := functionOf(drawer); !isFunction(place) {
					t.Errorf("%s has draws of %s, which is no function here any more. If it has another name now, run\n"+
						"  go test ./host/internal/sim -run '^TestRecordedSchedules$' -args '-rename=%s=NEW'\n"+
						"and if it is gone, the same with -rename=%s= takes its draws out.", file, place, place, place)
				}
			}
			if !t.Failed() {
				s.check(t, known[seed])
			}
		})
	}
}

// scheduleFiles returns the schedules of seeds and of mutants.
func scheduleFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(schedules + "/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded schedules in %s: %v", schedules, err)
	}
	ofMutants, err := filepath.Glob(schedules + "/*/*.gz")
	must(t, err)
	return append(files, ofMutants...)
}

// check replays the schedule: it must break the promise that it is known to break, if
// any.
func (s *schedule) check(t *testing.T, promise string) {
	t.Helper()
	b := s.replay(t, nil).Breach
	switch {
	case b == nil && promise != "":
		t.Errorf("it does not break %q any more: take its line out of known", promise)
	case b != nil && b.Invariant != promise:
		var trace bytes.Buffer
		s.replay(t, &trace)
		t.Errorf("it broke %q (when it was recorded: %q); the end of its trace (-args -tail=0 tells all):\n%s", b.Invariant, s.promise, lastLines(trace.String()))
	case b != nil && b.At != s.at:
		t.Logf("it breaks %q at %d µs, at %d µs when it was recorded", b.Invariant, b.At, s.at)
	}
}

func (s *schedule) replay(t *testing.T, trace io.Writer) Result {
	t.Helper()
	p, err := profileOf(s.profile)
	must(t, err)
	return runDrawn(s.seed, replayed(s.drawn), p, trace)
}

func profileOf(name string) (profile, error) {
	all := profiles()
	k := slices.IndexFunc(all, func(p profile) bool { return p.name == name })
	if k < 0 {
		return profile{}, fmt.Errorf("a recorded schedule is of the profile %q, which is gone; a profile keeps its name", name)
	}
	return all[k], nil
}

// keepSchedule stores the schedule of a seed that breaks a promise, and checks that the
// replay breaks the same one at the same time.
func keepSchedule(t *testing.T, text string) {
	t.Helper()
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	p := profileOfSeed(seed)
	d, kept := recorded(seed)
	b := runDrawn(seed, d, p, nil).Breach
	if b == nil {
		t.Errorf("seed %d breaks no promise: there is nothing to keep", seed)
		return
	}
	file := scheduleFile(text)
	must(t, writeSchedule(file, &schedule{seed: seed, profile: p.name, promise: b.Invariant, at: b.At, drawn: kept}))
	s, err := readSchedule(file)
	must(t, err)
	if again := s.replay(t, nil).Breach; again == nil || *again != *b {
		t.Errorf("seed %d: %v, and replayed: %v", seed, b, again)
	}
	size, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %q at %d µs, %d bytes", file, b.Invariant, b.At, size.Size())
}

// renamePlace moves the draws of a function to another name.
func renamePlace(t *testing.T, files []string) {
	t.Helper()
	was, is, ok := strings.Cut(*rename, "=")
	if !ok || was == "" || is != "" && !isFunction(is) {
		t.Fatalf("-rename=%s is not OLD=NEW with NEW a function of the simulator", *rename)
	}
	for _, file := range files {
		s, err := readSchedule(file)
		must(t, err)
		changed := false
		for _, drawer := range slices.Sorted(maps.Keys(s.drawn)) {
			if functionOf(drawer) != was {
				continue
			}
			changed = true
			v, now := s.drawn[drawer], is+drawer[len(was):]
			delete(s.drawn, drawer)
			if s.drawn[now] != nil {
				t.Fatalf("%s has draws of both %s and %s", file, drawer, now)
			}
			if is != "" {
				s.drawn[now] = v
			}
		}
		if !changed {
			continue
		}
		must(t, writeSchedule(file, s))
	}
}

// functionOf is the function of a place, without the part of the world.
func functionOf(place string) string {
	name, _, _ := strings.Cut(place, "@")
	return name
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

// A schedule is stored as text: first what it is, then the values of each place, one line
// per kind.

func writeSchedule(file string, s *schedule) error {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
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
		return err
	}
	return os.WriteFile(file, out.Bytes(), 0o600)
}

func readSchedule(file string) (*schedule, error) {
	packed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<24)
	s := &schedule{drawn: recording{}}
	for lines.Scan() {
		if s.profile == "" {
			if err := s.readHead(lines.Text()); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			continue
		}
		if err := s.read(strings.Fields(lines.Text())); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return s, lines.Err()
}

func (s *schedule) readHead(line string) (err error) {
	head := strings.SplitN(line, " ", 4)
	if len(head) < 4 {
		return fmt.Errorf("%q: want a seed, a profile, a moment and a promise", line)
	}
	s.profile, s.promise = head[1], head[3]
	if s.seed, err = parsed[uint64](head[0]); err != nil {
		return err
	}
	s.at, err = parsed[int64](head[2])
	return err
}

// read reads one line of values.
func (s *schedule) read(words []string) (err error) {
	v := s.drawn.at(words[0])
	for _, word := range words[2:] {
		switch words[1] {
		case "chances":
			for _, c := range word {
				v.chances = append(v.chances, c == '1')
			}
		case "numbers":
			v.numbers, err = add(v.numbers, word)
		case "shares":
			v.shares, err = add(v.shares, word)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func add[T any](list []T, word string) ([]T, error) {
	x, err := parsed[T](word)
	return append(list, x), err
}

func parsed[T any](text string) (T, error) {
	var x T
	if _, err := fmt.Sscan(text, &x); err != nil {
		return x, fmt.Errorf("%q: %w", text, err)
	}
	return x, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
