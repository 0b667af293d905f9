package zk

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// The connection is lost after the watch of a followed path was answered, before the session
// has received the answer.
func TestRestore_answered_on_a_lost_connection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, received := z.open(t)
		if err := s.Follow(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		watch := z.holdWatches(t)
		z.cut()
		answer := watch()
		say := func(state client.State) { s.receive(client.Event{Type: client.EventSession, State: state}) }
		say(client.StateDisconnected)
		answer()
		synctest.Wait()
		if got := received(); !slices.Equal(got, []registry.EventKind{registry.Suspended}) {
			t.Errorf("without a connection: heard %v", got)
		}
		say(client.StateHasSession)
		watch()()
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		if got := received(); !slices.Equal(got, []registry.EventKind{registry.Suspended, registry.Resumed}) {
			t.Errorf("with the next connection: heard %v", got)
		}
	})
}

// A service that was away longer than sessions last without it still has them when it returns,
// because nobody has counted meanwhile. A session goes on, although a new one may be opened before it
// has tried again, and the service may be there for a moment only. Pauses between attempts are
// random, hence the repetitions.
func TestSession_outlives_an_outage(t *testing.T) {
	t.Parallel()
	for moments := range 10 {
		synctest.Test(t, func(t *testing.T) {
			var z standIn
			s, received := z.open(t)
			z.leave()
			time.Sleep(5 * s.Timeout() / 2)
			for range moments {
				z.comeBack()
				time.Sleep(100 * time.Millisecond)
				z.leave()
				time.Sleep(2 * time.Second)
			}
			z.comeBack()
			time.Sleep(s.Timeout())
			synctest.Wait()
			if got := received(); got[len(got)-1] != registry.Resumed {
				t.Errorf("with %d moments of service: heard %v", moments, got)
			}
		})
	}
}

// The last event of a connection is received before its loss, the first event of the next
// connection afterwards.
func TestChanged_around_a_loss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, received := z.open(t)
		if err := s.Follow(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		watch := z.holdWatches(t)
		z.change(t, "/a")
		z.cut()
		answer := watch()
		want := []registry.EventKind{registry.Changed, registry.Suspended}
		synctest.Wait()
		if got := received(); !slices.Equal(got, want) {
			t.Errorf("before the next connection: heard %v, want %v", got, want)
		}
		answer()
		synctest.Wait()
		z.change(t, "/a")
		synctest.Wait()
		if got, want := received(), append(want, registry.Resumed, registry.Changed); !slices.Equal(got, want) {
			t.Errorf("heard %v, want %v", got, want)
		}
	})
}

// A path that is followed stays so when another call for it fails.
func TestFollow_again_and_in_vain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, _ := z.open(t)
		if err := s.Follow(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		watch := z.holdWatches(t)
		ctx, cancel := context.WithCancel(t.Context())
		again := make(chan error)
		go func() { again <- s.Follow(ctx, "/a") }()
		watch()
		cancel()
		if err := <-again; !errors.Is(err, context.Canceled) {
			t.Errorf("follow: %v", err)
		}
		if !s.followed("/a/b") {
			t.Error("changes are not heard any more")
		}
		z.cut()
		watch()() // otherwise it is not followed on the next connection
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An abandoned operation may reach the service until it has its answer. The transaction of Sync
// comes after it.
func TestSync_after_a_late_operation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, _ := z.open(t)
		ctx, cancel := context.WithCancel(t.Context())
		begun, goOn := make(chan struct{}), make(chan struct{})
		given := make(chan error)
		go func() {
			_, err := call(ctx, s, func() (string, error) {
				close(begun)
				<-goOn
				return s.conn.Sync("/late")
			})
			given <- err
		}()
		<-begun
		cancel()
		if err := <-given; !errors.Is(err, errLate) {
			t.Errorf("the operation: %v", err)
		}
		before := z.requests()
		synced := make(chan error, 1)
		go func() { synced <- s.Sync(t.Context()) }()
		synctest.Wait()
		if n := z.requests() - before; n > 0 || len(synced) > 0 {
			t.Errorf("sync went ahead: %d requests, %d returned", n, len(synced))
		}
		close(goOn)
		if err := <-synced; err != nil {
			t.Error(err)
		}
		if n := z.requests() - before; n < 2 {
			t.Errorf("%d requests in the end", n)
		}
	})
}

// Data and children of a node are two requests. A read of a node that had children before sends
// the second without waiting for the first.
func TestRead_asks_for_both_at_once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, _ := z.open(t)
		for range 2 {
			n, err := s.Read(t.Context(), "/a")
			if err != nil || len(n.Children) != 1 {
				t.Fatalf("%v, %v", n, err)
			}
			z.answerPairs()
		}
	})
}

func TestLists(t *testing.T) {
	t.Parallel()
	var l lists
	for i := range maxLists {
		l.note(strconv.Itoa(i), true)
	}
	l.note("0", false)
	l.note("0", true)
	if !l.has("0") || !l.has(strconv.Itoa(maxLists-1)) {
		t.Error("a list is not known")
	}
	if l.note("0", false); l.has("0") {
		t.Error("one without children is still known")
	}
	l.note("0", true)
	if l.note("one more", true); !l.has("one more") || len(l.paths) > maxLists {
		t.Errorf("%d lists are known", len(l.paths))
	}
}
