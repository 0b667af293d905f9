package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/registry"
)

// silent is a session whose reads get no answer until the test allows it.
type silent struct {
	registry.Session
	speak chan struct{}
}

func (s silent) Read(ctx context.Context, _ string) (registry.Node, error) {
	select {
	case <-s.speak:
		return registry.Node{Exists: true}, nil
	case <-ctx.Done():
		return registry.Node{}, ctx.Err()
	}
}

// A job session that closes while another one creates the namespace does not wait for the
// registry, and the next job session checks the namespace again.
func TestNamespaceDoubtedWhileItIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := silent{speak: make(chan struct{})}
		c := &openSession{server: &Server{options: Options{Namespace: []string{"/ns"}}}, session: s, namespaceLock: make(chan struct{}, 1)}
		made := make(chan error, 1)
		go func() { made <- c.prepareNamespace(t.Context()) }()
		synctest.Wait()
		c.recheckNamespace()
		waits, stop := context.WithCancel(t.Context())
		gaveUp := make(chan error, 1)
		go func() { gaveUp <- c.prepareNamespace(waits) }()
		synctest.Wait()
		stop()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("who waits for it and gives up: %v", err)
		}
		close(s.speak)
		if err := <-made; err != nil || c.namespaceMade.Load() {
			t.Errorf("error %v, there %v, want that the next job session looks again", err, c.namespaceMade.Load())
		}
		if err := c.prepareNamespace(t.Context()); err != nil || !c.namespaceMade.Load() {
			t.Errorf("the next job session: %v, there %v", err, c.namespaceMade.Load())
		}
	})
}

// A failed creation is tried again.
func TestNamespaceThatFailed(t *testing.T) {
	t.Parallel()
	c := &openSession{server: &Server{options: Options{Namespace: []string{"/ns"}}}, session: silent{}, namespaceLock: make(chan struct{}, 1)}
	over, stop := context.WithCancel(t.Context())
	stop()
	if err := c.prepareNamespace(over); err == nil || c.namespaceMade.Load() {
		t.Errorf("error %v, there %v", err, c.namespaceMade.Load())
	}
}
