package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	// pulsePatience is how long Alive waits for an answer.
	pulsePatience = time.Second
	// maxStill is how long a loop may stand still although something waits for it.
	maxStill = 30 * time.Second
	// maxStep is the most that the time between two looks counts. A process that was
	// frozen for an hour is not stuck.
	maxStep = 10 * time.Second
)

// pulse tells whether the loops of a host turn. It does nothing until somebody asks.
type pulse struct {
	asked chan chan<- error
	over  chan struct{} // closed when it has ended

	looked time.Time        // as still
	still  map[string]still // by whose loop it is; watchPulse alone uses it
}

// still is a loop for which something waits.
type still struct {
	turn  uint64
	waits time.Duration // for as long it has not turned
}

func newPulse() *pulse {
	return &pulse{asked: make(chan chan<- error), over: make(chan struct{})}
}

// Alive returns an error if the process is stuck: its loops do not turn although something
// has waited for them for half a minute, or it does not answer within a second. That
// needs a restart. It asks neither the registry nor the history. A host that does not run
// is alive.
func (h *Host) Alive(ctx context.Context) error {
	select {
	case <-h.working:
	default:
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pulsePatience)
	defer cancel()
	answer := make(chan error, 1)
	select {
	case h.pulse.asked <- answer:
	case <-h.pulse.over:
		return nil
	case <-ctx.Done():
		return failf(Internal, ctx.Err(), "the server does not say whether its loops turn")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return failf(Internal, ctx.Err(), "the server does not say whether its loops turn")
	}
}

// watchPulse answers Alive until ctx ends.
func (h *Host) watchPulse(ctx context.Context) {
	defer close(h.pulse.over)
	for {
		select {
		case answer := <-h.pulse.asked:
			answer <- h.pulse.look(time.Now(), h.waitingLoops())
		case <-ctx.Done():
			return
		}
	}
}

// waitingLoops returns the loops that have something to do, and how many turns they have
// begun.
func (h *Host) waitingLoops() map[string]uint64 {
	h.mu.Lock()
	sessions := h.sessions
	h.mu.Unlock()
	loops := sessions.Waiting()
	if loops == nil {
		loops = map[string]uint64{}
	}
	loops["the schedules"] = uint64(h.tick.Turned())
	return loops
}

// look compares the loops with those of the look before.
func (p *pulse) look(now time.Time, loops map[string]uint64) error {
	step := min(now.Sub(p.looked), maxStep)
	next, stuck := make(map[string]still, len(loops)), []string(nil)
	for of, turn := range loops {
		s := still{turn: turn}
		if before, ok := p.still[of]; ok && before.turn == turn {
			s.waits = before.waits + step
		}
		if next[of] = s; s.waits >= maxStill {
			stuck = append(stuck, of)
		}
	}
	p.looked, p.still = now, next
	if len(stuck) == 0 {
		return nil
	}
	slices.Sort(stuck)
	return failf(Internal, errors.New(strings.Join(stuck[:min(len(stuck), 10)], ", ")), "%d loops have not turned for %s", len(stuck), maxStill)
}
