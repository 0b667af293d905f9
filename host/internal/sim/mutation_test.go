package sim

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/overlay"
	"github.com/wasmjob/wasmjob/host/job"
)

var (
	mutants = flag.Bool("mutants", false, "play every mutant; else only look whether each can be made")
	only    = flag.String("only", "", "play the mutants whose names match this expression")
	share   = flag.String("share", "", "K/N: each N-th mutant only, from the K-th on")
	budget  = flag.Int("budget", 10000, "seeds that a mutant may survive")
	keep    = flag.Bool("keep", false, "record the schedule that kills a mutant which lived long")
	rebuilt = flag.String("rebuilt", "", "play this mutant, whose edits this program was built with")
)

// patience is the limit of time for one mutant.
const patience = 10 * time.Minute

// slowly is how long a mutant must live before its schedule is stored.
const slowly = 20 * time.Second

// mutant is the program without one rule or one fence, or with other code in
// their place.
type mutant struct {
	name    string
	promise string // the promise that the program keeps and the mutant breaks
	changes []change
}

// change leaves out a rule or a fence, or edits a function (see overlay.Edit).
type change struct {
	rule, fence string
	edit        overlay.Edit
}

func noRule(name string) change      { return change{rule: name} }
func noFence(name string) change     { return change{fence: name} }
func in(fn, old, by string) change   { return change{edit: overlay.Edit{Func: fn, Old: old, New: by}} }
func without(fn, code string) change { return in(fn, code, "") }

func allMutants() []mutant {
	return slices.Concat(recordMutants(), clusterMutants(), mirrorMutants(), wordMutants(), foreignMutants(), leaseMutants(), turnMutants(), clockMutants(), catchUpMutants(), admissionMutants(), askedMutants(), namedMutants(), layout3Mutants())
}

// edits returns the edits of a mutant, for which the program is compiled again.
func (m mutant) edits() []overlay.Edit {
	var all []overlay.Edit
	for _, c := range m.changes {
		if c.edit.Func != "" {
			all = append(all, c.edit)
		}
	}
	return all
}

// apply leaves the rule or fence of the mutant out of a world.
func (m mutant) apply(w *World) *World {
	for _, c := range m.changes {
		if c.rule != "" {
			w.without = c.rule
		}
		if c.fence != "" {
			w.job = w.job.Without(c.fence)
		}
	}
	return w
}

// verdict is the result for a mutant.
type verdict struct {
	invariant string // "" if it survived
	seed      string // or the scenario
	took      time.Duration
	err       error
}

// TestMutants plays each mutant: a scenario or a seed must break an invariant. Rules and
// fences are left out in this process. All edits together are compiled into one more
// program, which gets the names of those to use; the sources do not contain them. Without
// the flag the test only checks that the edits apply.
func TestMutants(t *testing.T) {
	all := allMutants()
	b := overlay.New()
	for k, m := range all {
		if slices.ContainsFunc(all[:k], func(o mutant) bool { return o.name == m.name }) {
			t.Errorf("two mutants are called %q", m.name)
		}
		if err := b.Add(k+1, m.edits()); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	if !*mutants || t.Failed() {
		return
	}
	build := sync.OnceValues(func() (string, error) { return b.Build(t.Context(), ".", t.TempDir()) })
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // nearly all objects die young
	wanted := regexp.MustCompile(*only)
	which, of := 0, 1
	if *share != "" {
		if _, err := fmt.Sscanf(*share, "%d/%d", &which, &of); err != nil || which < 0 || which >= of {
			t.Fatalf("-share=%s: want K/N, K from 0 to N-1", *share)
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for k, m := range all {
		if !wanted.MatchString(m.name) || k%of != which {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			v := m.verdict(t.Context(), k+1, build)
			switch {
			case v.err != nil:
				t.Errorf("%s: %v", m.name, v.err)
			case v.invariant == "":
				t.Errorf("%s survived %d seeds: %s", m.name, *budget, m.promise)
			}
			t.Logf("%-30s %-84s %-22s %7s %5.1f", m.name, m.promise, v.invariant, v.seed, v.took.Seconds())
		})
	}
	wg.Wait()
}

// profile is the profile in which seeds of the mutant are played.
func (m mutant) profile(seed uint64) profile {
	switch {
	case strings.HasPrefix(m.name, catchUpMutant):
		return catchUp()
	case m.inLayout3():
		return ofSeed([]profile{sharedJob(), migration()}, job.Layout3, seed)
	}
	return profileOfSeed(seed)
}

// scenes are the worlds of the scenarios, without their members.
func (m mutant) scenes() ([]scenario, func() *World) {
	if m.inLayout3() {
		return scenesIn3(), inLayout3
	}
	return scenarios(), func() *World { return newWorld(1, drawn(1), fair(), nil) }
}

func (m mutant) verdict(ctx context.Context, number int, build func() (string, error)) verdict {
	if len(m.edits()) == 0 {
		return m.play().ofIts(m)
	}
	binary, err := build()
	if err != nil {
		return verdict{err: err}
	}
	return m.runRebuilt(ctx, binary, number).ofIts(m)
}

// ofIts returns the verdict if the seed breaks nothing without the mutant. A breach of
// the program itself kills no mutant.
func (v verdict) ofIts(m mutant) verdict {
	seed, err := strconv.ParseUint(v.seed, 10, 64)
	if err != nil || v.invariant == "" || v.err != nil {
		return v
	}
	if own := breach(func() Result { return run(seed, m.profile(seed), nil) }); own != "" {
		v.err = fmt.Errorf("seed %d breaks %q without the mutant, too: mend that first", seed, own)
	}
	return v
}

// play plays the scenarios, and then seeds until one breaks.
func (m mutant) play() verdict {
	start := time.Now()
	v := verdict{}
	all, anew := m.scenes()
	for _, sc := range all {
		if v.invariant = breach(func() Result {
			r, _ := sc.playIn(m.apply(anew()))
			return r
		}); v.invariant != "" {
			v.seed = "scene"
			break
		}
	}
	if v.invariant == "" {
		if v.invariant, v.err = m.replayed(); v.invariant != "" || v.err != nil {
			v.seed = "kept"
		}
	}
	for seed := uint64(0); v.err == nil && v.invariant == "" && seed < uint64(*budget) && time.Since(start) < patience; seed++ {
		v.invariant = breach(func() Result { return m.simulate(seed) })
		v.seed = strconv.FormatUint(seed, 10)
	}
	if v.took = time.Since(start); *keep && v.invariant != "" && v.took > slowly {
		v.err = m.keep(v)
	}
	return v
}

// simulate is Run with the mutant.
func (m mutant) simulate(seed uint64) Result {
	return m.run(seed, drawn(seed), m.profile(seed))
}

func (m mutant) run(seed uint64, d *draws, p profile) Result {
	return m.apply(newWorld(seed, d, p, nil)).playAtRandom()
}

// breach returns the invariant that a world breaks; "" if none.
func breach(play func() Result) (invariant string) {
	defer func() {
		if recover() != nil {
			invariant = "panic"
		}
	}()
	if r := play(); r.Breach != nil {
		return r.Breach.Invariant
	}
	return ""
}

var verdictLine = regexp.MustCompile(`(?m)^verdict (\S*) by (.*)$`)

// TestRebuilt is the test that runRebuilt runs.
func TestRebuilt(t *testing.T) {
	if *rebuilt == "" {
		return
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	all := allMutants()
	k := slices.IndexFunc(all, func(m mutant) bool { return m.name == *rebuilt })
	if k < 0 {
		t.Fatalf("no mutant is called %q", *rebuilt)
	}
	v := all[k].play()
	if v.err != nil {
		t.Fatal(v.err)
	}
	fmt.Printf("verdict %s by %s\n", v.seed, v.invariant)
}

// runRebuilt plays a mutant in the program that has its edits.
func (m mutant) runRebuilt(ctx context.Context, binary string, number int) verdict {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.run", "^TestRebuilt$", "-test.timeout=0", "-rebuilt="+m.name, fmt.Sprintf("-budget=%d", *budget), fmt.Sprintf("-keep=%t", *keep))
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", overlay.NumberVariable, number))
	out, err := cmd.CombinedOutput()
	v := verdict{took: time.Since(start)}
	found := verdictLine.FindStringSubmatch(string(out))
	switch {
	case found != nil:
		v.seed, v.invariant = found[1], found[2]
	case errors.Is(ctx.Err(), context.DeadlineExceeded): // it did not end
		v.invariant = "hangs"
	case strings.Contains(string(out), "fatal error: "):
		v.invariant = "panic"
	default:
		v.err = fmt.Errorf("%w\n%s", cmp.Or(err, errors.New("no verdict")), out)
	}
	return v
}
