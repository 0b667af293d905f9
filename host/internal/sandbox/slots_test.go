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
	done := loading(t, e, (&builder{}).job(i32(0)))
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

func TestOneLargeCompilation(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.large.Lock()
	done := loading(t, e, append((&builder{}).job(i32(0)), section(0, append(text("x"), make([]byte, largeModule)...))...))
	load(t, e, (&builder{}).job(i32(0))) // another that is small does not wait
	select {
	case err := <-done:
		t.Errorf("it did not wait: %v", err)
	default:
	}
	e.large.Unlock()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// loading has begun to load a module when it returns.
func loading(t *testing.T, e *Engine, binary []byte) <-chan error {
	t.Helper()
	done := make(chan error)
	go func() {
		m, err := e.Load(t.Context(), binary)
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
	return done
}
