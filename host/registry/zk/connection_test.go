package zk

import (
	"slices"
	"testing"
	"testing/synctest"

	client "github.com/go-zookeeper/zk"

	"github.com/wasmjob/wasmjob/host/registry"
)

// The connection is lost when the watch of what is followed has been answered
// and the session has not heard of the answer yet.
func TestRestore_answered_on_a_lost_connection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var z standIn
		s, heard := z.open(t)
		if err := s.Follow(t.Context(), "/a"); err != nil {
			t.Fatal(err)
		}
		held := z.holdWatches()
		z.cut()
		answer := <-held
		say := func(state client.State) { s.hear(client.Event{Type: client.EventSession, State: state}) }
		say(client.StateDisconnected)
		answer()
		synctest.Wait()
		if got := heard(); !slices.Equal(got, []registry.EventKind{registry.Suspended}) {
			t.Errorf("without a connection: heard %v", got)
		}
		say(client.StateHasSession)
		answer = <-held
		answer()
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		if got := heard(); !slices.Equal(got, []registry.EventKind{registry.Suspended, registry.Resumed}) {
			t.Errorf("with the next connection: heard %v", got)
		}
	})
}
