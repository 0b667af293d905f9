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
	// maxStill is how long a loop may make no turn while something waits for it.
	maxStill = 30 * time.Second
	// maxStep is the most that the time between two looks counts, so that a process that was
	// frozen for an hour does not appear stuck.
	maxStep = 10 * time.Second
)

// pulse checks whether the loops of a host make turns. It does nothing until asked.
type pulse struct {
	asked chan chan<- error // requests of Alive, each with the channel for its answer
	over  chan struct{}     // closed when it has ended

	looked time.Time        // when still was set
	still  map[string]still // by the name of the loop; used by watchPulse alone
}

// still is a loop that has something to do.
type still struct {
	turn  uint64        // number of turns that it has begun
	waits time.Duration // time without a new turn
}

func newPulse() *pulse {
	return &pulse{asked: make(chan chan<- error), over: make(chan struct{})}
}

// Alive returns an error if the process is stuck and needs a restart: its loops have made no
// turn for half a minute although something waited for them, or it does not answer within a
// second. Alive asks neither the registry nor the history. A host that is not running is alive.
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
		return failf(Internal, ctx.Err(), "the server does not answer whether its loops are running")
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return failf(Internal, ctx.Err(), "the server does not answer whether its loops are running")
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

// waitingLoops returns the loops that have something to do, with the number of turns each has
// begun.
func (h *Host) waitingLoops() map[string]uint64 {
	h.mu.Lock()
	sessions := h.sessions
	h.mu.Unlock()
	loops := sessions.Waiting()
	if loops == nil {
		loops = map[string]uint64{}
	}
	loops["the schedules"] = uint64(h.tick.Turned()) // the ticker turns every second, so it always has something to do
	return loops
}

// look compares the waiting loops, with their numbers of turns, with the previous look. It
// returns an error if one of them has waited for maxStill without a new turn.
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
	return failf(Internal, errors.New(strings.Join(stuck[:min(len(stuck), 10)], ", ")), "%d loops have made no progress for %s", len(stuck), maxStill)
}
