package sim

import (
	"bytes"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

func TestReplayWritesTheSameStory(t *testing.T) {
	t.Parallel()
	for k, p := range profiles() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			var was, is bytes.Buffer
			d, kept := recorded(uint64(k))
			runDrawn(uint64(k), d, p, &was)
			runDrawn(uint64(k), replayed(kept), p, &is)
			if !bytes.Equal(was.Bytes(), is.Bytes()) {
				t.Error("the replay has another trace")
			}
		})
	}
}

// TestNewDrawsDoNotDisturbReplays draws at an unknown place whenever a member sends a
// transaction.
func TestNewDrawsDoNotDisturbReplays(t *testing.T) {
	t.Parallel()
	p := profiles()[0]
	var was, is bytes.Buffer
	d, kept := recorded(0)
	runDrawn(0, d, p, &was)
	w := newWorld(0, replayed(kept), p, &is)
	drew := 0
	w.driver.sending = func(*member, protocol.Mutation) {
		drew++
		if w.chance(0.3) {
			t.Error("a place without values got the less likely answer")
		}
		w.between(0, second)
		w.rng.share(1)
	}
	w.setup()
	w.populate()
	w.disturb()
	w.disturbMore()
	w.play()
	if drew == 0 || !bytes.Equal(was.Bytes(), is.Bytes()) {
		t.Errorf("with %d more draws the replay has another trace", drew)
	}
}

// TestReplayOutlivesItsRecording checks that a run goes on to its end when its values are
// used up.
func TestReplayOutlivesItsRecording(t *testing.T) {
	t.Parallel()
	for k, p := range profiles() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			d, kept := recorded(uint64(k))
			runDrawn(uint64(k), d, p, nil)
			for _, v := range kept {
				v.chances, v.numbers, v.shares = v.chances[:len(v.chances)/2], v.numbers[:len(v.numbers)/2], v.shares[:len(v.shares)/2]
			}
			if b := runDrawn(uint64(k), replayed(kept), p, nil).Breach; b != nil {
				t.Error(b)
			}
		})
	}
}

// TestReplayOfCertainChances checks that an event that was possible in the recording does
// not happen where it is impossible now.
func TestReplayOfCertainChances(t *testing.T) {
	t.Parallel()
	d, kept := recorded(1)
	for range 100 {
		d.chance(0.5)
	}
	again := replayed(kept)
	for range 20 {
		if again.chance(0) || !again.chance(1) {
			t.Fatal("a replay answers a certain chance with what was recorded of another")
		}
	}
}
