package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

func sampleEvents() []host.Event {
	start := host.Event{
		Kind: host.EventStart, At: time.Date(2026, 5, 1, 12, 0, 0, 3e6, time.UTC), Config: job.Config{Name: "greet"}, Item: 2,
		TaskID: "greet@-@2@-@READY@-@10.0.0.1@-@7", Parameter: "<Berlin>", Scheduled: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		Instance: "10.0.0.1@-@7", Cause: trace.Failover, Run: "greet/2/7", Attempt: 2, State: trace.Running,
	}
	end := start
	end.Kind, end.State, end.Reason = host.EventEnd, trace.Cancelled, reason.Of(reason.ShuttingDown)
	end.Outcome = job.Outcome{Code: 130, HasCode: true, Result: []byte("not shown"), Shown: "half\x1b[31m\ndone", Took: 1234 * time.Millisecond}
	assigned := host.Event{Kind: host.EventStrategy, At: start.At, Config: start.Config, Instance: start.Instance, Reason: reason.Text("out of fuel")}
	return []host.Event{start, end, assigned}
}

func TestEventsAsJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := withEvents(&out, slog.New(slog.DiscardHandler), func(emit func(host.Event)) error {
		for _, e := range sampleEvents() {
			emit(e)
		}
		return nil
	})
	const want = `{"event":"start","unix_ms":1777636800003,"job":"greet","item":2,"task_id":"greet@-@2@-@READY@-@10.0.0.1@-@7","parameter":"<Berlin>","scheduled_unix_ms":1777636800000,"instance":"10.0.0.1@-@7","cause":"failover","state":"running","run":"greet/2/7","attempt":2}
{"event":"end","unix_ms":1777636800003,"job":"greet","item":2,"task_id":"greet@-@2@-@READY@-@10.0.0.1@-@7","parameter":"<Berlin>","scheduled_unix_ms":1777636800000,"instance":"10.0.0.1@-@7","cause":"failover","state":"cancelled","run":"greet/2/7","attempt":2,"duration_ms":1234,"code":130,"reason":"the server was shutting down","reason_code":"shutting_down"}
{"event":"strategy","unix_ms":1777636800003,"job":"greet","instance":"10.0.0.1@-@7","reason":"out of fuel"}
`
	if err != nil || out.String() != want {
		t.Errorf("got %v\n%swant\n%s", err, &out, want)
	}
}

func TestEventsForPeople(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	emit := printEvents(&out, slog.New(newLineHandler(&out, slog.LevelInfo)))
	for _, e := range sampleEvents() {
		emit(e)
	}
	const want = "12:00:00 greet[2] (<Berlin>) started for 12:00:00, attempt 2\n" +
		"12:00:00 greet[2] (<Berlin>) cancelled in 1.23s on 10.0.0.1@-@7: half [31m done: the server was shutting down\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}

// A log of the level warn has no lines about items, neither as JSON nor as text.
func TestEventsAreOfTheLevelInfo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, h := range []slog.Handler{newLineHandler(&out, slog.LevelWarn), slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn})} {
		log := slog.New(h)
		for _, emit := range []func(host.Event){printEvents(&out, log), logEvents(log)} {
			for _, e := range sampleEvents() {
				emit(e)
			}
		}
	}
	if out.Len() > 0 {
		t.Errorf("a log of the level warn has\n%s", &out)
	}
}

func TestLinesForPeople(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(newLineHandler(&out, slog.LevelInfo))
	log.Debug("not shown")
	log.With("job", "j").WithGroup("g").Warn("it\x1b[0m happened", "a", 1, "text", "two words", slog.Group("in", "b", ""), "module", "long")
	_, line, _ := strings.Cut(out.String(), " ")
	if want := "WARN it [0m happened  job=j  g.a=1  g.text=\"two words\"  g.in.b=\"\"\n"; line != want {
		t.Errorf("got %q, want %q", line, want)
	}
}

// On a terminal, a guest's lines follow the line about its start. In a log that is searched by
// run, each line names its run.
func TestLinesOfGuests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		handler func(*bytes.Buffer) slog.Handler
		want    string
	}{
		{func(b *bytes.Buffer) slog.Handler { return newLineHandler(b, slog.LevelInfo) }, " hello  source=guest  job=j\n"},
		{func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) }, `"msg":"hello","source":"guest","job":"j","run":"j/0/1","attempt":2}` + "\n"},
	} {
		var out bytes.Buffer
		slog.New(tt.handler(&out)).With("source", "guest").With("job", "j", "run", "j/0/1", "attempt", 2).Info("hello")
		if !strings.HasSuffix(out.String(), tt.want) {
			t.Errorf("got %q, want %q", &out, tt.want)
		}
	}
}

// The log has, for each start and end, run and attempt and, for an end, the duration and the
// fault.
func TestEventsInTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	emit := logEvents(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	events := sampleEvents()
	events[1].Outcome.Error = "no such table"
	for _, e := range events {
		emit(e)
	}
	for k, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		want := [][]string{
			{`"msg":"item started"`, `"run":"greet/2/7"`, `"attempt":2`, `"cause":"failover"`},
			{`"msg":"item ended"`, `"run":"greet/2/7"`, `"attempt":2`, `"duration_ms":1234`, `"error":"no such table"`},
		}[k]
		for _, text := range want {
			if !strings.Contains(line, text) {
				t.Errorf("%s is missing in %s", text, line)
			}
		}
	}
}

func TestShorten(t *testing.T) {
	t.Parallel()
	long := shorten(strings.Repeat("é", maxShown))
	if !strings.HasSuffix(long, "é …") || len(long) > maxShown+len(" …") {
		t.Errorf("a long text became %q", long)
	}
	if got := shorten("a\u202eb\u2028c\u009bd\x7fe\u200bf"); got != "a b c d e f" {
		t.Errorf("what steers a terminal became %q", got)
	}
	if got := shorten(strings.Repeat("\xff", 2*maxShown)); len(got) > 4*maxShown {
		t.Errorf("bytes that are no text became %d bytes", len(got))
	}
}
