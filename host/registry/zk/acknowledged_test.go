package zk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
)

// The service counts a session's time-out from the receipt of a request, which may be as early
// as its sending. An answer that a server gives alone does not count.
func TestAcknowledged_is_when_it_was_sent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = 10 * time.Millisecond // before the first keep-alive is due
		z := standIn{slow: slow}
		asked := time.Now()
		s, _ := z.open(t)
		expect := func(what string, sent time.Time) {
			t.Helper()
			if got := s.Acknowledged(); !got.Equal(sent) {
				t.Errorf("%s: the session counts from %v after it was sent", what, got.Sub(sent))
			}
		}
		expect("the session itself", asked)
		if n, err := s.Read(t.Context(), "/a"); err != nil || !n.Exists {
			t.Errorf("read: %+v, %v", n, err)
		}
		expect("a read", asked)
		sent := time.Now()
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
		expect("a sync", sent)
		sent = time.Now()
		if _, err := s.Commit(t.Context(), registry.Op{Kind: registry.Check, Path: "/a", Version: registry.AnyVersion}); err != nil {
			t.Error(err)
		}
		expect("a commit", sent)
		if time.Since(asked) < 4*slow {
			t.Error("nothing took its time")
		}
	})
}
