package follow

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// world is a loop on a tree; the test delivers the answers.
type world struct {
	*testing.T
	Loop
	job  layout.Layout
	tree *tree.Tree
}

const session = 1

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, job: layout.NewJob("ns", "job"), tree: tree.New()}
	for _, p := range w.job.Namespace() {
		w.others(registry.Op{Kind: registry.Create, Path: p})
	}
	config, err := v21.EncodeConfig(v21.FromJob(job.Config{Name: "job", Kind: job.Simple, Shards: 1, MonitorExecution: true, MaxClockSkew: -1}))
	if err != nil {
		t.Fatal(err)
	}
	w.Loop = New(w.job, w.job.NewDecoder(nil), protocol.NewState(protocol.Options{
		Base: "10.0.0.1@-@1", Session: session, Contender: spelling.Contender(session), Define: protocol.Definition{Config: spelling.Text(config)},
	}))
	return w
}

// others commits a transaction of another member, whose events the loop receives.
func (w *world) others(ops ...registry.Op) {
	w.Helper()
	_, changes, err := w.tree.Commit(session+1, 1000, ops)
	if err != nil {
		w.Fatal(err)
	}
	if w.state != nil {
		w.receive(changes)
	}
}

func (w *world) receive(changes []tree.Change) {
	for _, c := range changes {
		e := registry.Event{Kind: registry.Changed, Path: c.Path}
		if c.Kind != tree.ChildrenChanged {
			e.Changes, e.Gone = 1, !c.Node.Exists
		}
		w.Event(e)
	}
}

// wanted returns the reads that the loop needs at once.
func (w *world) wanted() []mirror.Read {
	reads, _ := w.Reads()
	return reads
}

// settle answers reads until there is none.
func (w *world) settle() {
	for reads := w.wanted(); len(reads) > 0; reads = w.wanted() {
		for _, r := range reads {
			w.Reply(r, w.tree.Get(r.Path))
		}
	}
}

// observe settles, and shows the core the view.
func (w *world) observe() Plan {
	w.Helper()
	w.settle()
	if !w.Look() {
		w.Fatal("there is nothing to see")
	}
	return w.Step(1000, protocol.Observed{View: w.View()})
}

// answer carries out the transaction of a plan, and passes the outcome to the core.
func (w *world) answer(p Plan) Plan {
	w.Helper()
	receipt, changes, err := w.tree.Commit(session, 1000, p.Ops)
	if err != nil {
		w.Fatal(err)
	}
	w.receive(changes)
	in, _ := w.Answered(p.ID, receipt, session, nil)
	return w.Step(1000, in)
}

// refuse ends a plan with an error.
func (w *world) refuse(p Plan, err error) Plan {
	w.Helper()
	in, _ := w.Answered(p.ID, registry.Receipt{}, session, err)
	return w.Step(1000, in)
}

func TestLoop_joins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var did []string
	for w.state.Self() == "" && len(did) < 10 {
		p := w.observe()
		if p.Commit == nil {
			break
		}
		did = append(did, p.Commit.Name())
		w.answer(p)
	}
	if w.settle(); !w.Look() {
		t.Error("the end of a transaction is not shown")
	}
	if !slices.Contains(did, "join") || w.View().Config == nil {
		t.Errorf("did %q, configuration %v", did, w.View().Config)
	}
}

func TestAnswered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		what Outcome
		want protocol.Outcome
	}{
		{nil, Applied, protocol.Applied},
		{registry.ErrConflict, Conflict, protocol.Refused},
		{registry.ErrTooLarge, TooLarge, protocol.Refused},
		{registry.ErrDenied, Denied, protocol.Refused},
		{registry.ErrEnded, Ended, protocol.Refused},
		{registry.ErrReadOnly, ReadOnly, protocol.Refused},
		{registry.ErrUnknown, Unknown, protocol.Unknown},
		{errors.Join(registry.ErrReadOnly, registry.ErrUnknown), Unknown, protocol.Unknown},
		{errors.New("something else"), Unknown, protocol.Unknown},
	} {
		t.Run(fmt.Sprint(tt.err), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.observe()
			var receipt registry.Receipt
			if tt.err == nil {
				receipt.Results = make([]registry.Result, len(p.Ops))
			} else {
				tt.err = fmt.Errorf("commit: %w", tt.err)
			}
			in, what := w.Answered(p.ID, receipt, session, tt.err)
			if in.Plan != p.ID || in.Outcome != tt.want || what != tt.what || in.TooLarge != (what == TooLarge) {
				t.Errorf("%+v, %v", in, what)
			}
		})
	}
}

// The writes of a transaction of unknown outcome are known only after a sync and another
// read. Neither earlier reads nor events alone show them.
func TestUnknownIsReadAgainAfterASync(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.refuse(w.observe(), registry.ErrUnknown)
	if !p.Sync || p.Pause != 0 || !w.Syncing() {
		t.Fatalf("%+v", p)
	}
	if w.settle(); w.Look() {
		t.Error("a view is shown before the session has caught up")
	}
	w.Synced()
	if w.Look() {
		t.Error("a view is shown before all was read again")
	}
	if n := len(w.wanted()); n != len(w.job.Watched()) {
		t.Errorf("%d nodes are read again, not %d", n, len(w.job.Watched()))
	}
}

// A refused transaction wrote nothing: the next view comes once the session has
// caught up.
func TestRefusedWaitsForASync(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if p := w.refuse(w.observe(), registry.ErrConflict); !p.Sync {
		t.Fatalf("%+v", p)
	}
	if w.settle(); w.Look() {
		t.Error("a view is shown before the session has caught up")
	}
	w.Synced()
	if len(w.wanted()) > 0 || !w.Look() {
		t.Error("no view is shown after it has")
	}
}

func TestRefusalsInARowWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.observe()
	ms := time.Millisecond
	for k, want := range []time.Duration{0, 0, 0, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, longestPause, longestPause} {
		if q := w.refuse(p, registry.ErrDenied); !q.Sync || q.Pause != want {
			t.Errorf("refusal %d: %v after %v, want %v", k+1, q.Sync, q.Pause, want)
		}
		w.Synced()
		p = w.observe()
	}
	w.answer(p)
	if q := w.refuse(w.observe(), registry.ErrDenied); !q.Sync || q.Pause != 0 {
		t.Errorf("a refusal after an answer: %+v", q)
	}
}

func TestReadsThatFailComeAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for round, want := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause} {
		reads := w.wanted()
		if len(reads) != len(w.job.Watched()) {
			t.Fatalf("round %d: %d reads", round, len(reads))
		}
		for k, r := range reads {
			if pause := w.Failed(r); pause != want && k == 0 || pause != 0 && k > 0 {
				t.Errorf("round %d, read %d: %v", round, k, pause)
			}
		}
		if len(w.wanted()) > 0 {
			t.Errorf("round %d: reads are repeated at once", round)
		}
		w.Repeat()
	}
	for _, r := range w.wanted() {
		w.Failed(r)
	}
	w.Event(registry.Event{Kind: registry.Suspended})
	if len(w.wanted()) > 0 {
		t.Error("something is read without a connection")
	}
	w.Event(registry.Event{Kind: registry.Resumed})
	if w.observe(); w.failures != 0 {
		t.Errorf("after %d rounds", w.failures)
	}
}

// Reads of running marks beside members of ElasticJob are delayed, unless other nodes must
// be read, or the next view is awaited.
func TestMarksWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }
	item := w.job.At("sharding") + "/0"
	w.others(create(w.job.Root()), create(w.job.At("sharding")), create(item), create(w.job.At("instances")),
		registry.Op{Kind: registry.CreateEphemeral, Path: w.job.Instance("10.0.0.9@-@9")})
	w.observe()
	if !w.View().Shared() {
		t.Fatal("there is no member of ElasticJob")
	}
	w.others(create(item + "/running"))
	if reads, wait := w.Reads(); len(reads) > 0 || wait != marksPause {
		t.Errorf("%v, %v", reads, wait)
	}
	if reads, wait := w.Reads(); len(reads) > 0 || wait != 0 {
		t.Errorf("asked once more: %v, %v", reads, wait)
	}
	w.Waited()
	if reads := w.wanted(); len(reads) == 0 {
		t.Error("nothing is read after the wait")
	}
	w.Reread()
	if reads := w.wanted(); len(reads) == 0 {
		t.Error("something else waits, too")
	}
}

// If a foreign member and its mark are both gone in a view, the core is shown that view
// only after a read that shows which went first.
func TestEndAndLeaveInOneView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func(path string) registry.Op { return registry.Op{Kind: registry.Create, Path: path} }
	item, instance := w.job.At("sharding")+"/0", w.job.Instance("10.0.0.9@-@9")
	held := func(path string) registry.Op { return registry.Op{Kind: registry.CreateEphemeral, Path: path} }
	w.others(create(w.job.Root()), create(w.job.At("sharding")), create(item), create(w.job.At("instances")), held(instance), held(item+"/running"))
	w.observe()
	w.others(registry.Op{Kind: registry.Delete, Path: item + "/running", Version: registry.AnyVersion})
	w.others(registry.Op{Kind: registry.Delete, Path: instance, Version: registry.AnyVersion})
	if w.settle(); w.Look() {
		t.Fatal("the view is shown")
	}
	if reads := w.wanted(); len(reads) != 1 || reads[0].Path != item {
		t.Fatalf("reads %v", reads)
	} else {
		w.Reply(reads[0], w.tree.Get(item))
	}
	if !w.Look() {
		t.Fatal("it is not shown after the answer")
	}
	if v := w.View(); len(v.MarksChanged) != 1 || v.MarksChanged[0] == 0 || v.MarksChanged[0] >= v.InstancesChanged {
		t.Errorf("marks changed at %v, instances at %d", v.MarksChanged, v.InstancesChanged)
	}
	w.others(create(item + "/misfire"))
	w.observe()
	if v := w.View(); v.MarksChanged != nil {
		t.Errorf("a later view says %v", v.MarksChanged)
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	const trusted, doubtful, expired = protocol.Trusted, protocol.Doubtful, protocol.Expired
	for _, tt := range []struct {
		was, is protocol.Doubt
		ended   bool
		want    []protocol.Doubt
	}{
		{trusted, trusted, false, nil},
		{trusted, doubtful, false, []protocol.Doubt{doubtful}},
		{doubtful, doubtful, false, nil},
		{doubtful, trusted, false, []protocol.Doubt{trusted}},
		{doubtful, expired, true, []protocol.Doubt{expired}},
		{trusted, trusted, true, []protocol.Doubt{expired, trusted}},
		{expired, trusted, true, []protocol.Doubt{trusted}},
	} {
		l := Loop{doubt: tt.was}
		var got []protocol.Doubt
		for _, in := range l.Trust(tt.is, tt.ended) {
			got = append(got, in.(protocol.Doubted).Level)
		}
		if !slices.Equal(got, tt.want) || l.Doubt() != tt.is {
			t.Errorf("%+v: got %v, then %v", tt, got, l.Doubt())
		}
	}
}
