package host

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A job with more items than one transaction can assign is assigned in parts, within
// ZooKeeper's limit, and all of its items run.
func TestAJobOfManyItems(t *testing.T) {
	t.Parallel()
	const items = 4_500
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		var hosts []*Host
		var stops []func() error
		for _, id := range []job.InstanceID{"10.0.0.1@-@1", "10.0.0.2@-@1"} {
			h, stop := start(t, Options{
				Registry: reg, Instance: id, Runner: Func(fine), Sinks: []trace.Sink{rows},
				Jobs: []job.Config{{Name: "j", Shards: items, MonitorExecution: true}},
			})
			<-h.Ready()
			hosts, stops = append(hosts, h), append(stops, stop)
		}
		time.Sleep(time.Minute)
		owned := map[job.InstanceID]int{}
		for _, it := range hosts[0].Jobs()[0].Items {
			owned[it.Owner]++
		}
		if owned["10.0.0.1@-@1"] != items/2 || owned["10.0.0.2@-@1"] != items/2 {
			t.Errorf("owners: %v", owned)
		}
		if err := hosts[0].Trigger(t.Context(), "j"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != items {
			t.Errorf("%d items ran", n)
		}
		for _, stop := range stops {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if err := reg.Close(); err != nil {
			t.Error(err)
		}
	})
}
