package alert

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

var ops = []string{"ops"}

const gather = time.Second

func failed(at int64, items ...int) *fact {
	return &fact{job: "j", kind: Failed, items: items, count: int64(len(items)), at: at, when: at, text: "code 7", notify: ops}
}

func well(at int64, items ...int) *fact {
	return &fact{job: "j", over: true, items: items, count: 1, at: at, when: at, instant: at, notify: ops}
}

// sentAll settles the delivery of everything that is due, and returns its events.
func sentAll(t *testing.T, a *clustertree.Alerts, now int64, err error) (events []string) {
	t.Helper()
	w := New(Options{Gather: gather})
	w.now = func() time.Time { return time.UnixMilli(now) }
	w.value = *a
	all := w.due()
	for i := range all {
		all[i].err = err
		for _, n := range all[i].notices {
			events = append(events, n.Event)
		}
	}
	settle(a, all, now, gather)
	if _, err := clustertree.DecodeAlerts(a.Encode()); err != nil {
		t.Error(err)
	}
	return events
}

// Failures of a job within a short time are one alert. It is sent once, again an hour later
// if the job keeps failing, and once more when every item has recovered.
func TestAlertFromBeginToEnd(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 3, 1), gather)
	apply(&a, failed(1500, 2, 3), gather)
	if got := sentAll(t, &a, 1999, nil); got != nil {
		t.Error("too early:", got)
	}
	if one := a.Find("j", Failed); one.Count != 4 || !cmp.Equal(one.Items, []clustertree.Span{{First: 1, Last: 3}}) {
		t.Errorf("%+v", one)
	}
	if got := sentAll(t, &a, 2000, nil); !cmp.Equal(got, []string{Failed}) {
		t.Error(got)
	}
	apply(&a, failed(3000, 1), gather)
	if got := sentAll(t, &a, 9000, nil); got != nil {
		t.Error("sent again:", got)
	}
	hour := again.Milliseconds()
	apply(&a, failed(2000+hour, 1), gather)
	if got := sentAll(t, &a, 3000+hour, nil); !cmp.Equal(got, []string{Failed}) {
		t.Error("after an hour:", got)
	}
	apply(&a, well(4000+hour, 1, 2), gather)
	if got := sentAll(t, &a, 4000+hour, nil); got != nil {
		t.Error("item 3 is not all right:", got)
	}
	apply(&a, well(5000+hour, 3), gather)
	if got := sentAll(t, &a, 5000+hour, nil); !cmp.Equal(got, []string{Recovered}) || len(a.All) != 0 {
		t.Error(got, a.All)
	}
}

// An alert that is over before it was sent is sent nevertheless, and then its end.
func TestAlertThatIsOverBeforeItIsSent(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 0), gather)
	apply(&a, well(1100, 0), gather)
	first, second := sentAll(t, &a, 2000, nil), sentAll(t, &a, 2000, nil)
	if !cmp.Equal(first, []string{Failed}) || !cmp.Equal(second, []string{Recovered}) || len(a.All) != 0 {
		t.Error(first, second, a.All)
	}
}

// A failed delivery is repeated at growing intervals, and finally given up.
func TestAlertThatCannotBeSent(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 0), gather)
	now, tries := int64(2000), 0
	for ; len(a.Find("j", Failed).Left) > 0 && tries < 1000; tries++ {
		if got := sentAll(t, &a, now, errSent); len(got) != 1 {
			t.Fatal("nothing was tried at", now)
		}
		if a.Find("j", Failed).After > now && sentAll(t, &a, now, nil) != nil {
			t.Fatal("it is tried again at once")
		}
		now = max(now, a.Find("j", Failed).After)
	}
	if tries != maxTries+1 || now < (10*time.Hour).Milliseconds() {
		t.Errorf("%d tries in %v", tries, time.Duration(now)*time.Millisecond)
	}
}

// Failures that go on do not put off an alert that no notifier has received yet, in whatever order
// the job names its notifiers.
func TestAlertIsNotPutOff(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	begin := 2 * again.Milliseconds()
	for at := begin; at <= begin+gather.Milliseconds(); at += 200 {
		for _, f := range []*fact{failed(at, 0), failed(at, 1)} { // two of a batch
			f.notify = []string{"ops", "dev"}
			apply(&a, f, gather)
		}
		a.Encode()
	}
	if got := sentAll(t, &a, begin+gather.Milliseconds(), nil); !cmp.Equal(got, []string{Failed, Failed}) {
		t.Error(got)
	}
	named := watchedOf(&job.Config{Notify: []string{"ops", "dev", "ops"}}).notify
	if want := []string{"dev", "ops"}; !cmp.Equal(named, want) { // as the registry has them, so that they compare
		t.Errorf("%q", named)
	}
}

var errSent = clustertree.CheckTokenName("")

// A problem that comes back while its end is being sent is sent once more.
func TestAlertThatComesBack(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 0), gather)
	sentAll(t, &a, 2000, nil)
	apply(&a, well(3000, 0), gather)
	apply(&a, failed(3500, 0), gather)
	if got := sentAll(t, &a, 4500, nil); !cmp.Equal(got, []string{Failed}) {
		t.Error(got)
	}
	if one := a.Find("j", Failed); one == nil || one.Over != 0 {
		t.Errorf("%+v", one)
	}
}

// A silenced job raises no alerts; earlier ones are sent later.
func TestSilencedJob(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 0), gather)
	a.Silence(clustertree.Silence{Job: "j", Until: 10_000, By: "x"}, 1500)
	if got := sentAll(t, &a, 9999, nil); got != nil {
		t.Error("silenced:", got)
	}
	apply(&a, &fact{job: "j", kind: Missed, items: []int{0}, count: 1, at: 5000, when: 5000, notify: ops}, gather)
	if len(a.All) != 1 {
		t.Errorf("%+v", a.All)
	}
	if got := sentAll(t, &a, 10_000, nil); !cmp.Equal(got, []string{Failed}) {
		t.Error("after it:", got)
	}
}

// A run that ends well does not end a Late alert, and the end of a delay ends no other alert.
func TestWhatEndsAnAlert(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, failed(1000, 0), gather)
	apply(&a, &fact{job: "j", kind: Late, items: []int{0}, count: 1, at: 1000, when: 1000, notify: ops}, gather)
	apply(&a, &fact{job: "j", kind: Late, over: true, at: 2000, notify: ops}, gather)
	if a.Find("j", Late).Over == 0 || a.Find("j", Failed).Over != 0 {
		t.Errorf("%+v", a.All)
	}
	apply(&a, well(3000, 0), gather)
	if a.Find("j", Failed).Over == 0 {
		t.Errorf("%+v", a.All)
	}
}

// A row that another server reports again, without what the guest wrote, leaves the text of the alert.
func TestTextOfAnAlert(t *testing.T) {
	t.Parallel()
	row := func(r trace.Row) *fact {
		w := New(Options{Jobs: []job.Config{{Name: "j", Notify: ops}}})
		r.Job = "j"
		w.row(&r)
		return w.take()[0]
	}
	bare := row(trace.Row{State: trace.Failed})
	long := row(trace.Row{State: trace.Failed, Error: "exit code 7\nstderr:\r\n  disk full\n"})
	var a clustertree.Alerts
	for _, step := range []struct {
		f    *fact
		want string
	}{{bare, "failed"}, {long, "exit code 7 stderr: disk full"}, {bare, "exit code 7 stderr: disk full"}} {
		apply(&a, step.f, gather)
		if got := a.Find("j", Failed).Text; got != step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
	w := New(Options{Jobs: []job.Config{{Name: "j", Notify: ops}}})
	w.add(*long)
	w.add(*bare)
	if got := w.take()[0].text; got != long.text {
		t.Errorf("merged: %q", got)
	}
}

// A server that reclaims the record of a dead member reports its rows again. A success that is older
// than a problem does not end its alert.
func TestOlderSuccessEndsNoAlert(t *testing.T) {
	t.Parallel()
	gap := func(instant int64) trace.Row {
		return trace.Row{State: trace.Missed, Run: "gap", Instant: instant, Last: instant, Count: 1, End: instant + 25_000}
	}
	run := func(s trace.State, instant, end int64) trace.Row {
		return trace.Row{State: s, Instant: instant, Start: instant, End: end}
	}
	for name, tt := range map[string]struct {
		rows []trace.Row
		kind string
		over bool
	}{
		"before the missed instant":             {[]trace.Row{gap(60_000), run(trace.Succeeded, 50_000, 59_000)}, Missed, false},
		"that ends after the missed instant":    {[]trace.Row{gap(60_000), run(trace.Succeeded, 50_000, 70_000)}, Missed, false},
		"of the missed instant":                 {[]trace.Row{gap(60_000), run(trace.Succeeded, 60_000, 90_000)}, Missed, true},
		"both reclaimed":                        {[]trace.Row{gap(60_000), run(trace.Succeeded, 70_000, 71_000)}, Missed, true},
		"before the failure":                    {[]trace.Row{run(trace.Failed, 60_000, 61_000), run(trace.Succeeded, 40_000, 41_000)}, Failed, false},
		"retried where the clock is behind":     {[]trace.Row{run(trace.Failed, 60_000, 61_000), run(trace.Succeeded, 60_000, 59_000)}, Failed, true},
		"an older one and a newer one together": {[]trace.Row{gap(60_000), run(trace.Succeeded, 40_000, 41_000), run(trace.Succeeded, 80_000, 81_000)}, Missed, true},
		"two older ones":                        {[]trace.Row{gap(60_000), run(trace.Succeeded, 40_000, 41_000), run(trace.Succeeded, 20_000, 41_000)}, Missed, false},
	} {
		w := New(Options{Jobs: []job.Config{{Name: "j", Notify: ops}}})
		w.now = func() time.Time { return time.UnixMilli(200_000) }
		for i := range tt.rows {
			tt.rows[i].Job = "j"
			w.row(&tt.rows[i])
		}
		var a clustertree.Alerts
		for _, f := range w.take() {
			apply(&a, f, gather)
		}
		if one := a.Find("j", tt.kind); (one.Over != 0) != tt.over {
			t.Errorf("%s: %+v", name, one)
		}
	}
}

// The success of one item does not stand for a newer one of another item.
func TestSuccessesOfSeveralItems(t *testing.T) {
	t.Parallel()
	w := New(Options{Jobs: []job.Config{{Name: "j", Notify: ops}}})
	w.now = func() time.Time { return time.UnixMilli(200_000) }
	for _, r := range []trace.Row{
		{State: trace.Missed, Item: 0, Instant: 60_000, Last: 60_000, Count: 1}, {State: trace.Missed, Item: 1, Instant: 60_000, Last: 60_000, Count: 1},
		{State: trace.Succeeded, Item: 0, Instant: 40_000, End: 41_000}, {State: trace.Succeeded, Item: 1, Instant: 80_000, End: 81_000},
	} {
		r.Job = "j"
		w.row(&r)
	}
	var a clustertree.Alerts
	for _, f := range w.take() {
		apply(&a, f, gather)
	}
	if one := a.Find("j", Missed); one.Over != 0 || !cmp.Equal(one.Items, []clustertree.Span{{First: 0, Last: 0}}) || one.Last != 60_000 {
		t.Errorf("%+v", one)
	}
}

// Each state of a row raises the right alert.
func TestAlertsOfRows(t *testing.T) {
	t.Parallel()
	want := map[trace.State]string{trace.Failed: Failed, trace.TimedOut: Failed, trace.Interrupted: Failed, trace.Lost: Failed, trace.Missed: Missed}
	for _, s := range trace.States() {
		if got := wrong(&trace.Row{State: s}); got != want[s] {
			t.Errorf("%s: %q", s, got)
		}
	}
	if got := wrong(&trace.Row{State: trace.Missed, Reason: reason.Of(reason.JobPaused)}); got != "" {
		t.Errorf("a paused job: %q", got)
	}
}
