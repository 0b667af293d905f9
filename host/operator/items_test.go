package operator

import (
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// An item that has had no instant yet is accounted for from its first assignment, which is no instant.
func TestItemBeforeItsFirstInstant(t *testing.T) {
	t.Parallel()
	v := &protocol.View{
		Config: &protocol.Config{Cron: "0 0 3 * * ?", Total: 2}, Items: []protocol.Item{{Exists: true}, {Exists: true}},
		Assignment: protocol.Assignment{Exists: true, Total: 2, Last: []int64{7_200_123}},
	}
	items := itemReports(v)
	if x := items[0]; !x.Last.IsZero() || !x.Accounted.Equal(time.UnixMilli(7_200_123)) {
		t.Errorf("%+v", x)
	}
	if x := items[1]; !x.Last.IsZero() || !x.Accounted.IsZero() {
		t.Errorf("not assigned: %+v", x)
	}
}
