package spelling

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/reason"
)

// The core's estimate of a value's size is never too low.
func TestWeightIsNeverBelow(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		d := anyRuns(rng)
		if n, most := len(EncodeRuns(&d)), d.Bytes(); n > most {
			t.Fatalf("a record has %d bytes and is taken for %d: %s", n, most, EncodeRuns(&d))
		}
		a := anyAssignment(rng)
		if n, most := len(EncodeAssignment(&a)), a.Bytes(); n > most {
			t.Fatalf("an assignment has %d bytes and is taken for %d: %s", n, most, EncodeAssignment(&a))
		}
	}
	for range 15 {
		d := wideRuns(rng)
		n, most := len(EncodeRuns(&d)), d.Bytes()
		if n > most || most > 2*n+1000 {
			t.Fatalf("a wide record has %d bytes and is taken for %d: %.500s", n, most, EncodeRuns(&d))
		}
		a := protocol.Assignment{Exists: true, Total: len(d.Last), Members: []protocol.ID{"10.0.0.2@-@1", "10.0.0.1@-@1"}, Last: d.Last, Requested: d.Requested, Past: d.Past}
		for range a.Total {
			a.Owners = append(a.Owners, a.Members[rng.IntN(2)])
		}
		if n, most := len(EncodeAssignment(&a)), a.Bytes(); n > most {
			t.Fatalf("a wide assignment has %d bytes and is taken for %d", n, most)
		}
	}
}

// wideRuns returns a record of many items that differ to some degree.
func wideRuns(rng *rand.Rand) protocol.RunsData {
	var d protocol.RunsData
	total, kinds := 1+rng.IntN(9000), 1+rng.Int64N(1+[]int64{1, 3, 200, 100_000}[rng.IntN(4)])
	instant := func() int64 { return 1_700_000_000_000 + 1000*rng.Int64N(kinds) }
	for i := range total {
		e := protocol.Entry{Item: i, Instant: instant(), Cause: protocol.Scheduled, Attempt: 1, Begun: instant()}
		if rng.IntN(2) == 0 {
			d.Open = append(d.Open, e)
		}
		if rng.IntN(9) == 0 {
			d.Retries = append(d.Retries, protocol.Retry{Entry: e, After: instant()})
		}
		d.Seq++
		d.Rows = append(d.Rows, protocol.Row{Seq: d.Seq, Entry: e, State: protocol.Failed, Why: anyReason(rng), Ended: instant(), By: "10.0.0.1@-@1"})
		d.Last, d.Requested = append(d.Last, instant()), append(d.Requested, 1+rng.Int64N(kinds))
		d.Begun, d.Ended = append(d.Begun, instant()), append(d.Ended, instant())
	}
	for range rng.IntN(5) {
		d.Schedules = append(d.Schedules, protocol.Schedule{Rev: instant(), Since: instant(), Cron: whys[1+rng.IntN(len(whys)-1)]})
	}
	return d
}

var whys = []string{"", "no", "no", "no", "it said \"<no>\" & more\n\u2028 \xff", strings.Repeat("schlöß ", 30)}

// anyReason returns a code, or a text of any length.
func anyReason(rng *rand.Rand) reason.Reason {
	switch rng.IntN(3) {
	case 0:
		return reason.Of(reason.ServerGoneFailoverOff)
	case 1:
		return reason.Of(reason.StrategyFailedKept, whys[rng.IntN(len(whys))])
	}
	return reason.Text(whys[rng.IntN(len(whys))])
}

// filler steps a member of a job with many items, and compares each record that it would
// write with the bound.
type filler struct {
	t    *testing.T
	rng  *rand.Rand
	s    *protocol.State
	v    protocol.View
	now  int64
	most int
}

const fillerID, fillerDead = protocol.ID("10.0.0.1@-@1"), protocol.ID("10.0.0.2@-@1")

func newFiller(t *testing.T, rng *rand.Rand, total, most int) *filler {
	t.Helper()
	f := &filler{t: t, rng: rng, now: 1_700_000_100_000, most: most}
	f.s = protocol.NewState(protocol.Options{Base: fillerID, Session: 1, MaxBytes: most, NodeBytes: 150})
	f.v = protocol.View{
		Exists: true, Parents: protocol.Parents{Shared: true, Latch: true, Ours: true, Assignment: true},
		Config: &protocol.Config{Total: total, Cron: "0/10 * * * * ?", Failover: true}, Leader: fillerID, LeaderOwner: 1,
		Instances: []protocol.Instance{{ID: fillerID, Owner: 1}}, Members: []protocol.Member{{ID: fillerID, Owner: 1}}, Servers: []protocol.Server{{IP: "10.0.0.1"}},
		Runs:       []protocol.Runs{{ID: fillerID, RunsData: &protocol.RunsData{}}},
		Assignment: protocol.Assignment{Exists: true, Total: total, Members: []protocol.ID{fillerID}},
	}
	for range total {
		f.v.Items = append(f.v.Items, protocol.Item{Exists: true, Owner: fillerID})
		f.v.Assignment.Owners = append(f.v.Assignment.Owners, fillerID)
	}
	return f
}

func (f *filler) step(in protocol.Input) protocol.Plan { return protocol.Step(f.s, f.now, in) }

func (f *filler) observe() protocol.Plan {
	f.v.Rev++
	v := f.v
	return f.step(protocol.Observed{View: &v})
}

// apply replaces the record by that of the commit, and compares it with the bound.
func (f *filler) apply(p protocol.Plan, own protocol.RunsData) protocol.Plan {
	f.t.Helper()
	if n := len(EncodeRuns(&own)); n > f.most {
		f.t.Fatalf("%s has a record of %d bytes, at most %d", p.Commit.Name(), n, f.most)
	}
	k := len(f.v.Runs) - 1
	for f.v.Runs[k].ID != fillerID {
		k--
	}
	runs := append([]protocol.Runs(nil), f.v.Runs...)
	runs[k] = protocol.Runs{ID: fillerID, Version: runs[k].Version + 1, RunsData: &own}
	f.v.Runs = runs
	f.step(protocol.Committed{Plan: p.ID, Outcome: protocol.Applied, Revision: f.v.Rev})
	return f.observe()
}

// Items with different gaps have different rows. They begin and end in parts, as rows leave
// the record, and none is lost.
func TestDifferingInstantsFit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		f := newFiller(t, rng, 10_000, []int{MaxBytes, MaxBytes, 300_000}[seed%3])
		for i := range 10_000 {
			f.v.Assignment.Last = append(f.v.Assignment.Last, 1_700_000_000_000+int64(i)*int64(1+rng.IntN(2)))
		}
		f.observe()
		p := f.step(protocol.Tick{At: 1_700_000_100_000, Prev: 1_700_000_090_000})
		begins, begun, ended := 0, 0, 0
		for p.Commit != nil {
			switch m := p.Commit.(type) {
			case protocol.Begin:
				begins, begun = begins+1, begun+len(m.Begun)
				p = f.apply(p, m.Own)
				f.now += int64(len(m.Begun)) // the next ones begin at another moment
			case protocol.Complete:
				ended += len(m.Items)
				p = f.apply(p, m.Own)
			case protocol.Forget:
				p = f.apply(p, m.Own)
			default:
				t.Fatalf("nobody asked for %s", m.Name())
			}
			if p.Commit == nil {
				p = f.goOn()
			}
		}
		if begun != 10_000 || ended != 10_000 || begins < 2 {
			t.Errorf("%d items began with %d transactions, and %d ended", begun, begins, ended)
		}
	}
}

// goOn ends the runs, at several times, and stores rows.
func (f *filler) goOn() protocol.Plan {
	own := f.v.Runs[len(f.v.Runs)-1]
	if p := f.step(protocol.Stored{Upto: own.Seq}); p.Commit != nil {
		return p
	}
	var ends protocol.Finished
	for _, e := range own.Open {
		ends = append(ends, protocol.End{Entry: e, State: protocol.Failed, Why: anyReason(f.rng)})
	}
	return f.step(ends)
}

// An ordinary fire of many items is one transaction.
func TestFireIsOneTransaction(t *testing.T) {
	t.Parallel()
	f := newFiller(t, nil, 100_000, MaxBytes)
	f.observe()
	p := f.step(protocol.Tick{At: 1_700_000_100_000, Prev: 1_700_000_090_000})
	if m, ok := p.Commit.(protocol.Begin); !ok || len(m.Begun) != 100_000 || m.More {
		t.Fatalf("not all items begin at once: %T", p.Commit)
	} else {
		f.apply(p, m.Own)
	}
	var ends protocol.Finished
	for _, e := range f.v.Runs[0].Open {
		ends = append(ends, protocol.End{Entry: e, State: protocol.Succeeded})
	}
	if m, ok := f.step(ends).Commit.(protocol.Complete); !ok || len(m.Items) != 100_000 {
		t.Fatal("not all items end at once")
	}
}
