package alert

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/layout/clustertree"
)

var both = []string{"hook", "mail"}

// of returns a fact with both notifiers.
func of(f *fact) *fact {
	f.notify = both
	return f
}

// receive settles the delivery of everything that is due, while the notifier dead cannot be reached.
// Between the delivery and its record, meanwhile happens. It returns what the others received.
func receive(t *testing.T, a *clustertree.Alerts, now int64, dead string, meanwhile ...*fact) (received []string) {
	t.Helper()
	w := New(Options{})
	w.now = func() time.Time { return time.UnixMilli(now) }
	w.value = clustertree.Alerts{All: slices.Clone(a.All)}
	all := w.due()
	for i := range all {
		if all[i].to == dead {
			all[i].err = errSent
			continue
		}
		for _, n := range all[i].notices {
			received = append(received, all[i].to+" "+n.Event+fmt.Sprint(n.Items))
		}
	}
	for _, f := range meanwhile {
		apply(a, f, gather)
	}
	settle(a, all, now, gather)
	if _, err := clustertree.DecodeAlerts(a.Encode()); err != nil {
		t.Error(err)
	}
	return received
}

// While one notifier cannot be reached, another one receives every change, and the reminders.
// The one that is back receives the newest state.
func TestDeadNotifierSilencesNoOther(t *testing.T) {
	t.Parallel()
	minute, hour := time.Minute.Milliseconds(), time.Hour.Milliseconds()
	var a clustertree.Alerts
	for _, step := range []struct {
		at   int64
		f    *fact
		want []string
	}{
		{1000, failed(1000, 0), []string{"mail failed[0]"}},
		{minute, well(minute, 0), []string{"mail recovered[0]"}},
		{2 * hour, failed(2*hour, 1), []string{"mail failed[1]"}},
		{2*hour + minute, failed(2*hour+minute, 1), nil},
		{3*hour + minute, failed(3*hour+minute, 1), []string{"mail failed[1]"}},
		{4*hour + minute, well(4*hour+minute, 1), []string{"mail recovered[1]"}},
		{5 * hour, failed(5*hour, 2), []string{"mail failed[2]"}},
	} {
		apply(&a, of(step.f), gather)
		var got []string
		for i := range int64(20) { // tries follow each other at growing intervals
			got = append(got, receive(t, &a, step.at+i*1000, "hook")...)
		}
		if !cmp.Equal(got, step.want) {
			t.Errorf("at %v: %v, want %v", time.Duration(step.at)*time.Millisecond, got, step.want)
		}
	}
	if got := receive(t, &a, 6*hour, ""); !cmp.Equal(got, []string{"hook failed[2]"}) {
		t.Error("the hook is back:", got)
	}
	apply(&a, of(well(7*hour, 2)), gather)
	if got := receive(t, &a, 7*hour, ""); !cmp.Equal(got, []string{"hook recovered[2]", "mail recovered[2]"}) || len(a.All) != 0 {
		t.Error(got, a.All)
	}
}

// A state that changes while it is sent is sent at once to those that received the earlier one,
// however long another notifier has not been reached.
func TestStateThatChangesWhileItIsSent(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	apply(&a, of(failed(1000, 0)), gather)
	a.Find("j", Failed).Tries = 50
	if got := receive(t, &a, 2000, "hook", of(well(2000, 0))); !cmp.Equal(got, []string{"mail failed[0]"}) {
		t.Error(got)
	}
	if got := receive(t, &a, 2000, "hook"); !cmp.Equal(got, []string{"mail recovered[0]"}) {
		t.Errorf("%v, %+v", got, a.All)
	}
	if got := receive(t, &a, 3000, ""); !cmp.Equal(got, []string{"hook recovered[0]"}) || len(a.All) != 0 {
		t.Errorf("%v, %+v", got, a.All)
	}
}

// While nobody has received a lasting alert, further failures do not put its delivery off.
func TestReminderIsNotPutOff(t *testing.T) {
	t.Parallel()
	hour := again.Milliseconds()
	var a clustertree.Alerts
	apply(&a, of(failed(1000, 0)), gather)
	receive(t, &a, 2000, "")
	for at := 2000 + hour; at < 3000+hour; at += 100 {
		apply(&a, of(failed(at, 0)), gather)
	}
	if got := receive(t, &a, 3000+hour, ""); len(got) != 2 {
		t.Error(got)
	}
}

// A new alert takes the room of the oldest one that is over and waits for a dead notifier. Alerts
// that are not over leave no room.
func TestRoomForNewAlerts(t *testing.T) {
	t.Parallel()
	var a clustertree.Alerts
	for i := range clustertree.MaxAlerts {
		f := of(failed(1000, 0))
		f.job = fmt.Sprint("j", i)
		apply(&a, f, gather)
	}
	receive(t, &a, 2000, "hook")
	for _, at := range []int64{4000, 3000} {
		f := of(well(at, 0))
		f.job = fmt.Sprint("j", at/1000)
		apply(&a, f, gather)
	}
	receive(t, &a, 5000, "hook")
	for i, gone := range []string{"j3", "j4", ""} {
		f := of(failed(6000, 0))
		f.job = fmt.Sprint("new", i)
		changed, removed, lost := applyAll(&a, []*fact{f}, gather)
		if room := gone != ""; changed != room || removed+lost != 1 || (removed == 1) != room || a.Find(gone, Failed) != nil || len(a.All) != clustertree.MaxAlerts {
			t.Errorf("in place of %q: %v, %d removed, %d lost, %d alerts", gone, changed, removed, lost, len(a.All))
		}
	}
}

// The log says whether a message is tried again.
func TestLogOfMessagesThatAreNotSent(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.NotFoundHandler())
	defer h.Close()
	var log strings.Builder
	w := New(Options{Notifiers: []Notifier{{Name: "ops", Webhook: Webhook{URL: h.URL}}}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for tries, want := range map[int]string{
		0: "alerts were not sent, and are tried again", maxTries - 1: "alerts were not sent, and are tried again", maxTries: "alerts were not sent, and are given up",
	} {
		log.Reset()
		d := delivery{to: "ops", alerts: []clustertree.Alert{{Job: "j", Kind: Failed, Tries: tries}}, notices: []Notice{{Event: Failed}}}
		if w.send(t.Context(), &d); d.err == nil || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), want) {
			t.Errorf("after %d tries: %v, %s", tries, d.err, log.String())
		}
	}
}
