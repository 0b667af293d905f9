package discovery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wasmjob/wasmjob/host/reason"
)

// world is a registry and a server around a State. Operations end in any order.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	s    *State
	jobs map[string]made // in the registry
	next int64           // creation time of the next configuration
	log  []string

	answers []answer
	busy    map[string]bool  // candidates with an operation that is answered
	runs    map[string]bool  // running jobs, of the registry or of the file
	ending  map[string]bool  // running jobs that were told to end
	ran     map[string]made  // running jobs as their runners last read them
	reports map[string]bool  // jobs that their runners have to read again
	fetched map[string]bool  // names passed to Prefetch
	shut    map[string]int64 // creation time of the job that an operator has shut down
	looked  map[string]int64 // creation time of the job that was last read
	retries map[string]bool  // retries that are due; "" for the list
	file    map[string]bool  // jobs that the file has, or is about to have
	waits   map[string]bool  // jobs of the file that wait for Gone
	settled map[string]bool
	found   bool
}

// justNow stands for a creation time that the next look will show.
const justNow = -1

// made is a job in the registry.
type made struct {
	created        int64
	config, module bool
	fits           bool
	later          bool // a refusal is temporary
}

func (j made) runnable() bool { return j.config && j.module && j.fits }

// answer ends an operation.
type answer struct {
	name string // the candidate; "" for the list
	give func() Input
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 1)), jobs: map[string]made{}, next: 1}
	w.busy, w.runs, w.ending, w.shut, w.looked = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]int64{}, map[string]int64{}
	w.retries, w.file, w.waits, w.settled = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	w.ran, w.reports, w.fetched = map[string]made{}, map[string]bool{}, map[string]bool{}
	w.s = New("a")
	w.file["a"], w.runs["a"] = true, true
	return w
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

func (w *world) step(in Input) {
	w.t.Helper()
	w.log = append(w.log, fmt.Sprintf("%T%+v", in, in))
	for _, e := range w.s.Step(in) {
		w.log = append(w.log, fmt.Sprintf("    %T%+v", e, e))
		w.do(e)
	}
}

func (w *world) do(e Effect) {
	switch e := e.(type) {
	case List:
		names := slices.Sorted(maps.Keys(w.jobs))
		fails := w.rng.IntN(8) == 0
		w.await("", func() Input {
			if fails {
				return ListFailed{}
			}
			return Listed{names}
		})
	case RetryList:
		w.retries[""] = true
	case FirstListed:
		w.found = true
	case Look:
		j, fails := w.jobs[e.Name], w.rng.IntN(8) == 0
		w.await(e.Name, func() Input {
			if fails {
				return Refused{e.Name, true}
			}
			w.looked[e.Name] = j.created
			return Looked{e.Name, j.config, j.module, j.created}
		})
	case Try:
		j := w.jobs[e.Name]
		w.await(e.Name, func() Input {
			if !j.fits {
				return Refused{e.Name, j.later}
			}
			w.ran[e.Name] = j
			return Fits{e.Name}
		})
	case Start:
		w.start(e.Name)
	case Withdraw:
		w.ending[e.Name] = true
	case Prefetch:
		w.fetched[e.Name] = true
	case KeepShut:
		switch w.shut[e.Name] {
		case justNow:
			w.shut[e.Name] = w.looked[e.Name]
		case w.looked[e.Name]:
		default:
			w.fail("%s is kept shut, and nobody has shut it down", e.Name)
		}
		w.await(e.Name, func() Input { return Refused{Name: e.Name} })
	case Hide:
		w.await(e.Name, func() Input { return Hidden{e.Name} })
	case Settled:
		w.settled[e.Name] = true
	case Gone:
		delete(w.settled, e.Name)
		delete(w.retries, e.Name)
		if w.waits[e.Name] {
			w.runFile(e.Name)
		}
	case Retry:
		w.retries[e.Name] = true
	}
}

func (w *world) await(name string, give func() Input) {
	if w.busy[name] {
		w.fail("two effects of %q are under way at once", name)
	}
	w.busy[name] = true
	w.answers = append(w.answers, answer{name, give})
}

// start starts a candidate, or fails to.
func (w *world) start(name string) {
	if w.busy[name] || w.runs[name] {
		w.fail("%s runs twice", name)
	}
	if w.rng.IntN(8) == 0 {
		w.await(name, func() Input { return Refused{name, true} })
		return
	}
	w.runs[name], w.ending[name], w.settled[name] = true, false, true
	w.reports[name] = true // it may have changed since it was read
}

// runFile starts the file's own job.
func (w *world) runFile(name string) {
	if delete(w.waits, name); w.runs[name] {
		w.fail("%s runs as a job of the file and of the registry", name)
	}
	w.runs[name] = true
}

// answer ends one operation.
func (w *world) answer() {
	k := w.rng.IntN(len(w.answers))
	a := w.answers[k]
	w.answers = slices.Delete(w.answers, k, k+1)
	w.busy[a.name] = false
	w.step(a.give())
}

// over ends a candidate's run.
func (w *world) over(name string, asked bool) {
	delete(w.runs, name)
	if delete(w.shut, name); !asked {
		w.shut[name] = justNow
	}
	w.step(Ended{name, asked})
}

// runsHere reports whether a candidate runs, rather than a job of the file.
func (w *world) runsHere(name string) bool {
	return w.runs[name] && (!w.file[name] || w.waits[name])
}

// change changes a job in the registry. Its events come at once.
func (w *world) change(name string) {
	j, there := w.jobs[name]
	switch w.rng.IntN(6) {
	case 0:
		delete(w.jobs, name)
	case 1, 2:
		j = made{w.next, true, true, true, false}
		w.next++
		w.jobs[name] = j
	default:
		if !there {
			return
		}
		j.fits, j.later = w.rng.IntN(2) == 0, w.rng.IntN(2) == 0
		if j.config = w.rng.IntN(4) > 0; !j.config {
			j.created = 0
		} else if j.created == 0 {
			j.created = w.next
			w.next++
		}
		j.module = w.rng.IntN(4) > 0
		w.jobs[name] = j
	}
	if _, now := w.jobs[name]; now != there {
		w.step(ListChanged{})
	}
	w.step(Touched{Name: name})
	if w.runsHere(name) {
		w.reports[name] = true
	}
}

// report lets a candidate's runner read the job again.
func (w *world) report() {
	name := slices.Min(slices.Collect(maps.Keys(w.reports)))
	if delete(w.reports, name); !w.runsHere(name) {
		return
	}
	j, ended := w.jobs[name], w.ending[name]
	in := Changed{Name: name, Removed: !j.config || !j.module, Same: j == w.ran[name]}
	if in.Removed {
		in.Same = false
	} else if w.ran[name] = j; !j.fits {
		in.Blockers = []reason.Reason{reason.Of(reason.RandomAboveLimit)}
	}
	delete(w.fetched, name)
	w.step(in)
	switch {
	case !j.runnable() && !w.ending[name]:
		w.fail("%s runs on as what this server may not run", name)
	case j.runnable() && w.ending[name] && !ended:
		w.fail("%s is withdrawn, and could go on", name)
	case w.fetched[name] != (j.runnable() && !in.Same):
		w.fail("%s is prefetched: %v", name, w.fetched[name])
	}
}

func (w *world) chance(names []string) {
	name := names[w.rng.IntN(len(names))]
	switch w.rng.IntN(9) {
	case 0, 1:
		w.change(name)
	case 2, 3:
		if len(w.answers) > 0 {
			w.answer()
		}
	case 4:
		if w.runsHere(name) {
			w.over(name, w.ending[name])
		}
	case 5:
		w.step(SessionEnded{name})
	case 6:
		w.edit(name)
	case 7:
		w.due()
	case 8:
		if len(w.reports) > 0 {
			w.report()
		}
	}
}

// edit adds a job to the server's own file or removes it, as the host does.
func (w *world) edit(name string) {
	switch {
	case !w.file[name]:
		w.file[name], w.waits[name] = true, true
		w.step(FileHas{name})
		if w.waits[name] && !slices.Contains(w.s.Candidates(), name) {
			w.runFile(name)
		}
	case !w.waits[name]:
		delete(w.file, name)
		delete(w.runs, name)
		w.step(FileLost{name})
	}
}

// due ends one pause.
func (w *world) due() {
	if len(w.retries) == 0 {
		return
	}
	name := slices.Min(slices.Collect(maps.Keys(w.retries)))
	if delete(w.retries, name); name == "" {
		w.step(ListChanged{})
	} else {
		w.step(Touched{Name: name})
	}
}

// settle ends all operations and all runs that were told to end. Jobs that are refused
// temporarily may be refused forever.
func (w *world) settle(names []string) {
	for range 10_000 {
		switch ends := slices.IndexFunc(names, func(n string) bool { return w.runsHere(n) && w.ending[n] }); {
		case len(w.answers) > 0:
			w.answer()
		case len(w.reports) > 0:
			w.report()
		case ends >= 0:
			w.over(names[ends], true)
		case len(w.retries) > 0 && w.rng.IntN(50) > 0: // some retries stay due
			w.due()
		default:
			return
		}
	}
	w.fail("it comes to no end")
}

// TestWhateverHappens checks that a name has one runner at a time, that every job starts
// that the server may run, that jobs are forgotten that are gone or in the file, and that
// every waiting job waits for an event that comes.
func TestWhateverHappens(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for seed := range uint64(3000) {
		w := newWorld(t, seed)
		w.step(ListChanged{})
		for range 150 {
			w.chance(names)
		}
		w.settle(names)
		w.check(seed, names)
	}
}

func (w *world) check(seed uint64, names []string) {
	if !w.found && !w.retries[""] {
		w.fail("seed %d: the list was never read", seed)
	}
	for _, name := range names {
		j, there := w.jobs[name]
		candidate := slices.Contains(w.s.Candidates(), name)
		should := j.runnable() && w.shut[name] != j.created
		switch pending := w.retries[name] || w.retries[""]; {
		case w.waits[name]:
			w.fail("seed %d: the file's job %s waits for ever", seed, name)
		case w.file[name] && (candidate || !w.runs[name]):
			w.fail("seed %d: the file has %s; a candidate: %v, runs: %v", seed, name, candidate, w.runs[name])
		case w.file[name], pending:
		case candidate != there:
			w.fail("seed %d: %s is in the registry: %v, a candidate: %v", seed, name, there, candidate)
		case w.runs[name] && (!there || !j.config || !j.module):
			w.fail("seed %d: %s runs, and is not there", seed, name)
		case should && !w.runs[name]:
			w.fail("seed %d: %s does not run", seed, name)
		case candidate && !w.settled[name]:
			w.fail("seed %d: %s is not settled", seed, name)
		case there && j.config && j.module && !j.fits && j.later && w.shut[name] != j.created:
			w.fail("seed %d: %s is to be tried again, and nobody does", seed, name)
		}
	}
}
