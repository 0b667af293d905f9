package spelling

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

var same = cmpopts.EquateEmpty()

func TestValuesComeBack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		d := anyRuns(rng)
		got, err := DecodeRuns(EncodeRuns(&d))
		if err != nil {
			t.Fatalf("%s: %v", EncodeRuns(&d), err)
		}
		if diff := cmp.Diff(d, got, same); diff != "" {
			t.Fatalf("record (-want +got):\n%s", diff)
		}
		a := anyAssignment(rng)
		back, err := DecodeAssignment(EncodeAssignment(&a))
		if err != nil {
			t.Fatalf("%s: %v", EncodeAssignment(&a), err)
		}
		if diff := cmp.Diff(a, back, same); diff != "" {
			t.Fatalf("assignment (-want +got):\n%s", diff)
		}
		p := protocol.Pending{Item: 7, Entry: anyEntry(rng, 7), Dead: "10.0.0.1@-@1"}
		again, err := DecodePending(7, EncodePending(&p))
		if diff := cmp.Diff(p, again); diff != "" || err != nil {
			t.Fatalf("pending, error %v (-want +got):\n%s", err, diff)
		}
	}
}

// Items with the same values share a range, so a fire of a thousand items is one entry of
// the record.
func TestValuesAreRanges(t *testing.T) {
	t.Parallel()
	var d protocol.RunsData
	for i := range 1000 {
		e := protocol.Entry{Item: i, Instant: 5000, Cause: protocol.Scheduled, Attempt: 1, Begun: 5001}
		d.Open = append(d.Open, e)
		d.Last = append(d.Last, 5000)
		d.Requested = append(d.Requested, 77)
		d.Seq++
		d.Rows = append(d.Rows, protocol.Row{Seq: d.Seq, Entry: e, State: protocol.Succeeded})
	}
	want := `{"v":1,"seq":1000,"open":[{"i":[0,999],"t":5000,"cause":"schedule","n":1,"b":5001}],"last":[[0,999,5000]],` +
		`"rows":[{"s":1,"i":[0,999],"t":5000,"cause":"schedule","n":1,"b":5001,"state":"succeeded"}],"requested":[[0,999,77]]}`
	if got := string(EncodeRuns(&d)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Items with the same values that are not neighbours share an entry too.
func TestValuesOfScatteredItems(t *testing.T) {
	t.Parallel()
	var d protocol.RunsData
	for _, i := range []int{0, 2, 3, 7} {
		e := protocol.Entry{Item: i, Instant: 5000, Cause: protocol.Scheduled, Attempt: 1}
		d.Open = append(d.Open, e)
		d.Seq++
		d.Rows = append(d.Rows, protocol.Row{Seq: d.Seq, Entry: e, State: protocol.Failed})
	}
	want := `{"v":1,"seq":4,"open":[{"i":[0,0,2,3,7,7],"t":5000,"cause":"schedule","n":1}],` +
		`"rows":[{"s":1,"i":[0,0,2,3,7,7],"t":5000,"cause":"schedule","n":1,"state":"failed"}]}`
	if got := string(EncodeRuns(&d)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if back, err := DecodeRuns([]byte(want)); err != nil || !cmp.Equal(d, back, same) {
		t.Errorf("it does not come back: %v\n%s", err, cmp.Diff(d, back, same))
	}
}

func TestDamagedValuesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                  "empty",
		`{`:                                 "not what this release writes",
		`{"v":3}`:                           "version 3",
		`{"v":1,"open":[{"i":[5,2]}]}`:      "out of range",
		`{"v":1,"open":[{"i":[0,999999]}]}`: "out of range",
		`{"v":1,"open":[{"i":[-1,0]}]}`:     "out of range",
		`{"v":1,"open":[{"i":[3,3]},{"i":[3,3]}]}`:                                           "open twice",
		`{"v":1,"last":[[5,4,1]]}`:                                                           "out of order",
		`{"v":1,"last":[[0,2000000000,1]]}`:                                                  "out of range",
		`{"v":1,"requested":[[0,2000000000,1]]}`:                                             "out of range",
		`{"v":1,"retries":[{"i":[3,3]},{"i":[2,2]}]}`:                                        "out of order",
		`{"v":1,"triggers":[{"items":[[0,99999]]},{"items":[[0,99999]]},{"items":[[0,0]]}]}`: "too many",
		`{"v":1,"rows":[{"i":[0,99999]},{"i":[0,99999]},{"i":[0,0]}]}`:                       "too many",
		`{"v":1,"open":[{"i":[3]}]}`:                                                         "no pairs",
		`{"v":1,"open":[{"i":[]}]}`:                                                          "no pairs",
		`{"v":1,"rows":[{"i":[3,3,2,2]}]}`:                                                   "out of order",
		`{"v":1,"last":{"numbers":[5],"of":"Ag=="}}`:                                         "out of range",
		`{"v":1,"last":{"numbers":[5],"of":"gA=="}}`:                                         "cut off",
		`{"v":1,"rows":[{"i":[0,100000]}]}`:                                                  "out of range",
	} {
		if _, err := DecodeRuns([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("record %q: %v, want something about %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                       "empty",
		`{"v":9}`:                "version 9",
		`{"v":1,"total":-1}`:     "total",
		`{"v":1,"total":100001}`: "total",
		`{"v":1,"total":1,"members":["a"],"owners":[[0,1,0]]}`:         "owner",
		`{"v":1,"total":1,"members":["a"],"owners":[[0,0,1]]}`:         "owner",
		`{"v":1,"requested":[[3,1,5]]}`:                                "out of order",
		`{"v":1,"total":2,"departing":[2]}`:                            "departing",
		`{"v":1,"total":2,"departing":[-1]}`:                           "departing",
		`{"v":1,"total":2,"departing":[1,1]}`:                          "departing",
		`{"v":1,"total":1,"members":["a"],"packed":[[0,0,2]]}`:         "owner",
		`{"v":1,"total":9,"members":["a"],"owners":[[0,3,0],[3,4,0]]}`: "owner",
		`{"v":1,"total":9,"members":["a"],"owners":[[3,2,0]]}`:         "owner",
		`{"v":1,"total":1,"members":["a"],"packed":[[0,1,1]]}`:         "owner",
	} {
		if _, err := DecodeAssignment([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("assignment %q: %v, want something about %q", text, err, want)
		}
	}
	if p, err := DecodePending(3, nil); !p.Foreign || err != nil {
		t.Error("ElasticJob's empty pending mark is not taken as foreign")
	}
	if _, err := DecodePending(3, []byte(`{"v":7}`)); err == nil {
		t.Error("a pending mark of another version is not refused")
	}
}

func FuzzValues(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		d, a := anyRuns(rng), anyAssignment(rng)
		f.Add(EncodeRuns(&d))
		f.Add(EncodeAssignment(&a))
	}
	f.Add(EncodeBackfill(&protocol.Backfill{By: "ops", Instants: []int64{1, 60_000}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if d, err := DecodeRuns(data); err == nil {
			text := EncodeRuns(&d)
			back, err := DecodeRuns(text)
			if err != nil || !bytes.Equal(text, EncodeRuns(&back)) {
				t.Errorf("record %q does not come back: %v", data, err)
			}
		}
		if a, err := DecodeAssignment(data); err == nil && len(a.Members) > 0 {
			if _, err := DecodeAssignment(EncodeAssignment(&a)); err != nil {
				t.Errorf("assignment %q does not come back: %v", data, err)
			}
		}
		_, _ = DecodePending(0, data)
		_, _ = DecodeFires(data)
		var b, back protocol.Backfill
		if err := DecodeBackfill(&b, data); err == nil {
			if err := DecodeBackfill(&back, EncodeBackfill(&b)); err != nil || !slices.Equal(back.Instants, b.Instants) || back.By != b.By {
				t.Errorf("backfill %q comes back as %+v: %v", data, back, err)
			}
		}
	})
}

func anyEntry(rng *rand.Rand, i int) protocol.Entry {
	e := protocol.Entry{Item: i, Instant: 1000 * rng.Int64N(4), Cause: protocol.Scheduled, Attempt: 1 + rng.IntN(2), Begun: rng.Int64N(3)}
	if rng.IntN(4) == 0 {
		e.Trigger, e.Cause = "t7", protocol.Triggered
		e.Uncounted = rng.IntN(2)
		if rng.IntN(2) == 0 {
			e.Param, e.First = `a "text" of <ours>`, 1000
		}
	}
	return e
}

func anyTallies(n int) []protocol.Tally {
	var all []protocol.Tally
	for i := range n {
		all = append(all, protocol.Tally{Instant: 1_700_000_000_000 + int64(i), Well: i, Of: 100_000})
	}
	return all
}

func anyRuns(rng *rand.Rand) protocol.RunsData {
	var d protocol.RunsData
	for i := range rng.IntN(12) {
		if rng.IntN(3) > 0 {
			d.Open = append(d.Open, anyEntry(rng, i))
		}
		d.Last = append(d.Last, 1000*rng.Int64N(3))
	}
	for len(d.Last) > 0 && d.Last[len(d.Last)-1] == 0 {
		d.Last = d.Last[:len(d.Last)-1]
	}
	for range rng.IntN(4) {
		d.Requested = append(d.Requested, 1+rng.Int64N(2))
	}
	if rng.IntN(2) == 0 {
		d.Begun, d.Ended, d.Flow = []int64{0, 7}, []int64{5, 5, 8}, protocol.Flow{Succeeded: 3}
		d.Results = protocol.Results{Instant: 9, Succeeded: 3, Failed: 2, Skipped: 1}
		d.Schedules = []protocol.Schedule{{Cron: "0 0 * * * ?"}, {Rev: 3, Since: 7}}
		d.Latest = protocol.Latest{At: 1_700_000_000_000, State: protocol.Interrupted}
		d.Streaks = anyStreaks(1 + rng.IntN(protocol.MaxStreaks))
		d.Tallies = anyTallies(1 + rng.IntN(protocol.MaxTallies))
	}
	d.Idle = anyIdle(rng)
	for i := range rng.IntN(5) {
		if rng.IntN(2) == 0 {
			d.Retries = append(d.Retries, protocol.Retry{Entry: anyEntry(rng, i), After: 5 + rng.Int64N(2)})
		}
	}
	for range rng.IntN(8) {
		d.Seq += 1 + rng.Int64N(2)
		r := protocol.Row{Seq: d.Seq, Entry: anyEntry(rng, rng.IntN(4)), State: protocol.Failed, By: "10.0.0.1@-@1"}
		if rng.IntN(3) == 0 {
			r.Gap, r.After, r.Until, r.State, r.Why = true, 1, rng.Int64N(3), protocol.Missed, reason.Of(reason.JobPaused)
			r.Cron = []string{"", "0 0 * * * ?"}[rng.IntN(2)]
		}
		d.Rows = append(d.Rows, r)
	}
	if rng.IntN(2) == 0 {
		d.Triggers = []protocol.Trigger{{ID: "t9", At: 5, Items: []int{0, 1, 2, 5}}}
	}
	return d
}

// anyStreaks returns n streaks of the greatest size.
func anyStreaks(n int) []protocol.Streak {
	var all []protocol.Streak
	for k := range n {
		all = append(all, protocol.Streak{Item: MaxItems - n + k, Failures: 999_999, At: 1_700_000_000_000})
	}
	return all
}

func anyAssignment(rng *rand.Rand) protocol.Assignment {
	a := protocol.Assignment{Exists: true, Members: []job.InstanceID{"b", "a"}, Total: rng.IntN(9)}
	for i := range a.Total {
		if rng.IntN(4) == 0 {
			a.Departing = append(a.Departing, i)
		}
		a.Owners = append(a.Owners, a.Members[rng.IntN(2)])
		a.Last = append(a.Last, 1+rng.Int64N(2))
		a.Requested = append(a.Requested, 1+rng.Int64N(2))
	}
	a.Idle = anyIdle(rng)
	a.Streaks = anyStreaks(rng.IntN(protocol.MaxStreaks))
	return a
}

func anyIdle(rng *rand.Rand) protocol.Idle {
	var d protocol.Idle
	for range rng.IntN(5) {
		d.Spans = append(d.Spans, protocol.Span{From: 1_700_000_000_000, To: 1_800_000_000_000})
	}
	for range rng.IntN(3) {
		d.Resumed = append(d.Resumed, 1_700_000_000_000+rng.Int64N(2))
	}
	if rng.IntN(2) == 0 {
		d.Unattended = 1_700_000_000_000
	}
	return d
}
