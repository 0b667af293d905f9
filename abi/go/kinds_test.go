package wasmjob

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// numbers is a dataflow job over the numbers below 7, in batches of three.
func numbers(c Context, out Sink) error {
	from, err := c.State().Int("offset")
	if err != nil {
		return err
	}
	for n := from; n < min(from+3, 7); n++ {
		if err := out.AddString(string(rune('0' + n))); err != nil {
			return err
		}
	}
	return nil
}

func add(c Context, in Batch) error {
	all, err := in.All()
	if err != nil {
		return err
	}
	return errors.Join(c.State().SetInt("offset", int64(all[len(all)-1][0]-'0')+1), c.Metric("seen", float64(in.Len())))
}

func TestDataflow(t *testing.T) {
	t.Parallel()
	f := &Fake{State: map[string]string{}, Streaming: true}
	if code := f.Dataflow(numbers, add); code != resultOK || f.State["offset"] != "7" || f.Metrics["seen"] != 7 || f.Handled != [3]int{7, 0, 0} {
		t.Errorf("code %d, %s, %+v", code, f.Err, f)
	}
	if code := f.Dataflow(numbers, add); code != resultSkipped {
		t.Errorf("nothing left: code %d", code)
	}
	f = &Fake{State: map[string]string{}}
	if code := f.Dataflow(numbers, add); code != resultOK || f.State["offset"] != "3" {
		t.Errorf("not streaming: code %d, %v", code, f.State)
	}
	f = &Fake{State: map[string]string{}, Streaming: true, Stop: func() Reason { return StopResharding }}
	if code := f.Dataflow(numbers, add); code != resultOK || f.State["offset"] != "3" {
		t.Errorf("asked to stop: code %d, %v", code, f.State)
	}
	f = &Fake{}
	if code := f.Dataflow(numbers, add); code != resultFailed || !strings.Contains(f.Err, "not granted") {
		t.Errorf("without state: code %d, %s", code, f.Err)
	}
}

// What fetch has set is kept only with its batch.
func TestAFailedBatchKeepsNothing(t *testing.T) {
	t.Parallel()
	fetch := func(c Context, out Sink) error { return errors.Join(c.State().SetInt("next", 3), out.AddString("e")) }
	fails := errors.New("bad batch")
	for name, process := range map[string]func(Context, Batch) error{
		"at once": func(Context, Batch) error { return fails },
		"when elements come again": func(c Context, in Batch) error {
			if _, err := c.State().Get("p"); err == nil {
				return fails
			}
			return errors.Join(c.State().SetInt("p", 1), in.Ack(0, AckRetry))
		},
	} {
		f := &Fake{State: map[string]string{"next": "0"}}
		if code := f.Dataflow(fetch, process); code != resultFailed || !maps.Equal(f.State, map[string]string{"next": "0"}) {
			t.Errorf("fails %s: code %d, %v", name, code, f.State)
		}
	}
}

func three(_ Context, out Sink) error {
	return errors.Join(out.AddString("done"), out.AddString("failed"), out.Add([]byte("again")), out.AddString("unmarked"))
}

func TestElementsAreMarked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second  Outcome
		err     error
		code    int32
		handled [3]int
	}{
		"tried again in vain": {AckRetry, nil, 0, [3]int{2, 2, 0}},
		"then done":           {AckDone, nil, 0, [3]int{3, 1, 0}},
		"the batch fails":     {AckDone, errors.New("oh"), 1, [3]int{1, 3, 0}},
	} {
		f := &Fake{}
		code := f.Dataflow(three, func(_ Context, in Batch) error {
			if in.Len() == 1 {
				return in.Ack(0, tt.second)
			}
			return errors.Join(in.Ack(0, AckFailed), in.Ack(0, AckDone), in.Ack(1, AckFailed), in.Ack(2, AckRetry), tt.err)
		})
		if code != tt.code || f.Handled != tt.handled {
			t.Errorf("%s: code %d, handled %v", name, code, f.Handled)
		}
	}
	f := &Fake{Batch: []string{"a"}}
	f.Process(func(_ Context, in Batch) error {
		for _, err := range []error{in.Ack(1, AckDone), in.Ack(-1, AckDone), in.Ack(1<<40, AckDone), in.Ack(0, 3)} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("marked: %v", err)
			}
		}
		if _, err := in.At(1); !errors.Is(err, ErrInvalid) || err.Error() != "read element 1: invalid argument" {
			t.Errorf("read beyond the end: %v", err)
		}
		return nil
	})
}

func TestShard(t *testing.T) {
	t.Parallel()
	f := &Fake{
		Total: 4, Owners: []int{1, -1}, Instances: []FakeInstance{{ID: "b"}, {ID: "a", Labels: map[string]string{"zone": "x"}}},
		Secrets: map[string]string{"token": "s"},
	}
	code := f.Shard(func(c Context, d Deal) error {
		if d.Items() != 4 || d.Instances() != 2 || d.ID(0) != "b" || d.ID(2) != "" {
			t.Errorf("%d items, %d instances", d.Items(), d.Instances())
		}
		zone, ok := d.Label(1, "zone")
		if _, other := d.Label(0, "zone"); zone != "x" || !ok || other {
			t.Errorf("labels %q, %v, %v", zone, ok, other)
		}
		for item := range d.Items() {
			owner, _ := d.Owner(item)
			if err := d.Assign(item, owner); err != nil {
				return err
			}
		}
		for _, err := range []error{d.Assign(4, 0), d.Assign(-1, 0), d.Assign(0, 2)} {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("assigned: %v", err)
			}
		}
		if err := d.Assign(0, 0); !errors.Is(err, ErrConflict) {
			t.Errorf("assigned twice: %v", err)
		}
		_, clock := c.Now()
		_, granted := c.Secret("token")
		_, other := c.Secret("other")
		for _, err := range []error{clock, granted, other, c.Sleep(0), c.Random(make([]byte, 1)), c.ResultString(""), c.Metric("a", 1), c.State().Delete("a")} {
			if !errors.Is(err, ErrWrongPhase) {
				t.Errorf("in a strategy: %v", err)
			}
		}
		return nil
	})
	if want := map[int]int{0: 1, 1: 0, 2: 0, 3: 0}; code != 0 || !maps.Equal(f.Assigned, want) {
		t.Errorf("code %d, %s, dealt %v", code, f.Err, f.Assigned)
	}
}

// A strategy does not learn where and for which run it assigns, and has nothing to stop or to report.
func TestAStrategyIsForNoRun(t *testing.T) {
	t.Parallel()
	param := "north"
	f := &Fake{
		JobName: "j", JobParam: "p", Namespace: "n", ModuleDigest: "d", Seed: "s",
		TaskID: "t", RunID: "r", Instance: "i", Param: &param, Stop: func() Reason { return StopShutdown },
	}
	f.Shard(func(c Context, _ Deal) error {
		if got := c.JobName() + c.JobParam() + c.Namespace() + c.ModuleDigest() + c.Seed(); got != "jpnds" {
			t.Errorf("told %q", got)
		}
		for _, field := range []int32{fieldTaskID, fieldShardingParam, fieldInstanceID, fieldRunID} {
			if n := f.ctxStr(field, nil); HostError(n) != ErrNotFound {
				t.Errorf("field %d: %d", field, n)
			}
		}
		if n := f.cancelled(); HostError(n) != ErrWrongPhase {
			t.Errorf("cancelled: %d", n)
		}
		c.Progress(1, 2)
		return nil
	})
	if f.Done != 0 || f.Goals != 0 {
		t.Errorf("progress %d of %d", f.Done, f.Goals)
	}
	f.Run(func(c Context) error {
		if got := c.TaskID() + c.RunID() + c.Instance(); got != "tri" || c.Cancelled() != StopShutdown {
			t.Errorf("a job after it: %q, %v", got, c.Cancelled())
		}
		return nil
	})
}

// Functions of one entry are refused in another.
func TestPhases(t *testing.T) {
	t.Parallel()
	f := &Fake{}
	answers := []int32{
		f.batchAdd(nil), f.batchCount(), f.batchRead(0, nil), f.batchAck(0, 0), f.shardInstanceCount(), f.shardInstanceID(0, nil),
		f.shardInstanceLabel(0, "", nil), f.shardPrev(0), f.shardAssign(0, 0),
	}
	if slices.ContainsFunc(answers, func(n int32) bool { return HostError(n) != ErrWrongPhase }) {
		t.Errorf("answers %v", answers)
	}
}
