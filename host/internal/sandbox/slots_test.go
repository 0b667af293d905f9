package sandbox

import (
	"runtime"
	"testing"
)

// Strangers may send many modules at once, and each takes a lot to compile.
func TestAsManyCompilationsAsProcessors(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for range cap(e.slots) {
		e.slots <- struct{}{}
	}
	done := make(chan error)
	go func() {
		m, err := e.Load(t.Context(), (&builder{}).job(i32(0)))
		if err == nil {
			m.Close()
		}
		done <- err
	}()
	for waits := false; !waits; runtime.Gosched() {
		e.mu.Lock()
		waits = len(e.modules) > 0
		e.mu.Unlock()
	}
	select {
	case err := <-done:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	for range cap(e.slots) {
		<-e.slots
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
