package host

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/runner"
)

// Gauges are numbers about a host at one moment.
type Gauges struct {
	Started  bool // Run has begun the jobs
	Draining bool // Run is ending

	Jobs    int // jobs that run here or are about to
	Refused int // jobs whose code this server does not run
	Loading int // jobs that wait since the start until their module is compiled
	Leads   int // jobs that this server leads
	Owned   int // items that this server owns

	Unstored    int64 // rows that wait for the history
	Unwritable  int   // jobs whose rows the history does not take at present
	GuestMemory uint64
	MemoryLimit uint64 // of all guests together; 0 if unknown
	// Skew is how far this server's clock is ahead of the registry's; 0 if unknown.
	Skew time.Duration
}

// Gauges returns sums over all jobs. It is fast even with thousands of jobs, and waits for none
// of them.
func (h *Host) Gauges() Gauges {
	h.mu.Lock()
	sessions, runners := h.sessions, make([]*runner.Runner, 0, len(h.jobs))
	g := Gauges{Started: h.started, Draining: h.draining, Jobs: len(h.jobs)}
	for _, j := range h.jobs {
		if j.whyRefused() != "" {
			g.Refused++
		}
		if j.runner != nil {
			runners = append(runners, j.runner)
		} else if j.isLoading() {
			g.Loading++
		}
	}
	h.mu.Unlock()
	for _, r := range runners {
		of := r.Gauges()
		g.Owned += of.Owned
		g.Unstored += of.Unstored
		if of.Leads {
			g.Leads++
		}
		if of.Unwritable {
			g.Unwritable++
		}
	}
	if sessions != nil { // Run has opened the store as well
		g.Skew = time.Duration(sessions.Skew()) * time.Millisecond
		g.GuestMemory, g.MemoryLimit = h.store.GuestMemory()
	}
	return g
}
