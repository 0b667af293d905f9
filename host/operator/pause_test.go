package operator

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace"
)

// A pause expires without a request, also in reports on the job.
func TestPauseEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, rows := embedded.Memory(), &pile{}
		h, stop := start(t, host.Options{
			Registry: reg, Namespace: "jobs", Instance: "10.0.0.1@-@a", Jobs: []job.Config{{Name: "j", Cron: "0 * * * * ?", Shards: 1}},
			Runner: host.Func(fine), Sinks: []trace.Sink{rows},
		})
		<-h.Ready()
		time.Sleep(30 * time.Second)
		o := operate(t, reg)
		o.As(Author{Name: "ann", Way: BySocket})
		terms := PauseTerms{Why: "the database moves", For: 150 * time.Second}
		if err := o.Pause(t.Context(), "j", terms); err != nil {
			t.Fatal(err)
		}
		began, until := time.Now(), time.Now().Add(terms.For)
		time.Sleep(140 * time.Second)
		r, err := o.Job(t.Context(), "j")
		if want := (PauseReport{By: "ann", Why: terms.Why, Since: began, Until: until}); err != nil || r.State != "paused" || !r.Pause.Until.Equal(until) || r.Pause.By != want.By || r.Pause.Why != want.Why || !r.Pause.Since.Equal(began) {
			t.Errorf("%v: %s %+v, want %+v", err, r.State, r.Pause, want)
		}
		e, err := o.Explain(t.Context(), Question{Job: "j"})
		if err != nil || e.Items[0].Why.Code != reason.JobPaused || !e.Items[0].Until.Equal(until) {
			t.Errorf("%v: explained by %+v", err, e.Items)
		}
		if n := rows.count("j", trace.Succeeded); n != 0 {
			t.Errorf("%d runs in a pause", n)
		}
		time.Sleep(time.Minute)
		if n := rows.count("j", trace.Succeeded); n != 1 {
			t.Errorf("%d runs in the minute after the pause", n)
		}
		if r, err := o.Job(t.Context(), "j"); err != nil || r.Paused || r.Pause != (PauseReport{}) {
			t.Errorf("%v: after the end it is %s %+v", err, r.State, r.Pause)
		}
		if err := errors.Join(o.Close(), stop(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
}

// A list does not show a cached report whose pause has expired since.
func TestListsSeePausesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRoster("/jobs")
		_, reading := r.look("j", nil)
		r.keep("j", reading, &JobReport{Name: "j", Paused: true, Pause: PauseReport{Until: time.Now().Add(time.Minute)}})
		if kept, _ := r.look("j", nil); kept == nil {
			t.Error("it is not kept while the pause lasts")
		}
		time.Sleep(time.Minute)
		if kept, _ := r.look("j", nil); kept != nil {
			t.Error("it is kept after the end")
		}
	})
}

func TestPauseTermsAreBounded(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	if _, err := o.session.Commit(t.Context(), registry.Op{Kind: registry.Create, Path: "/jobs"}); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for what, terms := range map[string]PauseTerms{
		"an end that has passed":   {Until: now},
		"an end in two years":      {Until: now.AddDate(2, 0, 0)},
		"a time in the past":       {For: -time.Second},
		"more than ten years":      {For: 1<<63 - 1},
		"two ends":                 {For: time.Hour, Until: now.Add(time.Hour)},
		"a reason of two lines":    {Why: "one\ntwo"},
		"a reason that is a page":  {Why: string(make([]byte, 201))},
		"a reason that is no text": {Why: "\xff"},
	} {
		wantCode(t, what, o.Pause(t.Context(), "j", terms), host.Invalid)
	}
}
