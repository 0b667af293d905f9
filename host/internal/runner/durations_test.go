package runner

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A run that was given up while it waited for a place has no duration, because no guest
// ran.
func TestRowsOfGuestsThatNeverStarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &book{}
		s := serve(t, reg, rows, "10.0.0.1", func(o *Options) {
			o.Guests, o.Config.Cron, o.Config.Parallel, o.Config.Shards = takes(4*time.Minute), "10m", 1, 2
		})
		time.Sleep(time.Until(time.Now().Truncate(10 * time.Minute).Add(10*time.Minute + 5*time.Second)))
		s.now()
		<-s.done
		var got []string
		for _, r := range rows.sorted() {
			got = append(got, fmt.Sprintf("%s started %v ended %v", r.State, r.Start != 0, r.End != 0))
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"cancelled started false ended true", "cancelled started true ended true"}, got); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		must(t, reg.Close())
	})
}
