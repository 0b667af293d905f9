package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

const someRun = runsPath + "report/0/1/logs"

// attempted is a history that has one attempt of each run of the job report.
func attempted(_ context.Context, n operator.RunName) ([]trace.Row, error) {
	if n.Job != "report" {
		return nil, nil
	}
	return []trace.Row{{Job: n.Job, Item: n.Item, Run: n.Run, Attempt: 1, State: trace.Failed, Log: "+0.001s info <b>one</b>\n", HasLog: true}}, nil
}

// A log is followed from the client's last part until the attempt ends.
func TestLogsAreFollowed(t *testing.T) {
	t.Parallel()
	live := &runlog.Logs{}
	log, lines := live.Begin(slog.New(slog.DiscardHandler), "report/0/1", 2)
	log = slog.New(everything{log.Handler()})
	h, _ := guarded(Options{Logs: &operator.RunLogs{Live: live, History: attempted}})
	get := func(path, last string) string {
		w := sent(t, h, http.MethodGet, path, "10.0.0.1:1", "Authorization: Bearer viewer", lastEventHeader+": "+last)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		return w.Body.String()
	}
	log.Info("two\x1b[31m")
	all, last := eventsIn(get(someRun+"/follow", ""))
	if len(all) != 1 || !strings.Contains(all[0], "info two") || strings.Contains(all[0], "ended") || strings.Contains(all[0], "\x1b") {
		t.Fatalf("the beginning is %q", all)
	}
	if again, _ := eventsIn(get(someRun+"/follow", last)); again != nil {
		t.Errorf("what is known comes again: %q", again)
	}
	for _, wrong := range []string{"9-9", "x", "-1--1", "1-5", "2-99999999999999999999"} {
		if all, _ := eventsIn(get(someRun+"/follow", wrong)); len(all) != 1 || !strings.Contains(all[0], "info two") {
			t.Errorf("after the id %q comes %q", wrong, all)
		}
	}
	log.Info("three")
	live.End(lines)
	all, _ = eventsIn(get(someRun+"/follow", last))
	if len(all) != 1 || !strings.Contains(all[0], "info three") || !strings.Contains(all[0], `"ended":true`) || strings.Contains(all[0], "two") {
		t.Errorf("the end is %q", all)
	}
	text := get(someRun, "")
	for _, want := range []string{`"attempt":1,"state":"failed"`, `\u003cb\u003eone`, `"attempt":2,"running":true`, "info three"} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s: %s", want, text)
		}
	}
	for path, want := range map[string]int{
		runsPath + "absent/0/1/logs": http.StatusNotFound, runsPath + "absent/0/1/logs/follow": http.StatusNotFound,
		runsPath + "report/x/1/logs": http.StatusUnprocessableEntity, runsPath + "report/-1/1/logs/follow": http.StatusUnprocessableEntity,
		runsPath + "..%2f/0/1/logs": http.StatusNotFound, someRun + "?follow=1": http.StatusBadRequest,
	} {
		if w := sent(t, h, http.MethodGet, path, "10.0.0.1:1", "Authorization: Bearer viewer"); w.Code != want {
			t.Errorf("%s is answered %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// everything enables all levels.
type everything struct{ slog.Handler }

func (everything) Enabled(context.Context, slog.Level) bool { return true }

// A client follows a log over a real connection, and gets each line once.
func TestClientFollowsALog(t *testing.T) {
	t.Parallel()
	live := &runlog.Logs{}
	log, lines := live.Begin(slog.New(slog.DiscardHandler), "report/0/1", 1)
	log = slog.New(everything{log.Handler()})
	c := serveOptions(t, Options{Operate: onMemory, Logs: &operator.RunLogs{Live: live, History: func(context.Context, operator.RunName) ([]trace.Row, error) { return nil, nil }}})
	name := operator.RunName{Job: "report", Item: 0, Run: "1"}
	log.Info("line 0")
	var text strings.Builder
	parts := 0
	err := c.FollowRunLog(t.Context(), name, operator.LogPart{}, func(p operator.LogPart) error {
		text.WriteString(p.Text)
		if parts++; parts < 20 {
			log.Info(fmt.Sprintf("line %d", parts)) //nolint:sloglint // as guests do
		} else {
			live.End(lines)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if want := fmt.Sprintf("line %d\n", i); strings.Count(text.String(), " info "+want) != 1 {
			t.Errorf("%q is not told once:\n%s", want, &text)
		}
	}
	all, unread, err := c.RunLog(t.Context(), name)
	if err != nil || len(all) != 1 || all[0].Log != text.String() || unread != nil {
		t.Errorf("got %+v, %v, %v", all, unread, err)
	}
	stop := errors.New("enough")
	if err := c.FollowRunLog(t.Context(), name, operator.LogPart{}, func(operator.LogPart) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	_, _, err = c.RunLog(t.Context(), operator.RunName{Job: "absent", Run: "1"})
	wantCode(t, "a run that is not there", err, host.NotFound, "absent/0/1")
	err = c.FollowRunLog(t.Context(), operator.RunName{Job: "a/b", Run: "1"}, operator.LogPart{}, nil)
	wantCode(t, "no name", err, host.NotFound, "cannot be the name of a job")
}

func FuzzReadParts(f *testing.F) {
	f.Add("id: 1-2\nevent: log\ndata: {\"attempt\":1,\"next\":2,\"text\":\"x\"}\n\n")
	f.Add("data: {}\ndata: {\"attempt\":-1}\n")
	f.Add("data: " + strings.Repeat("x", 100))
	f.Fuzz(func(t *testing.T, stream string) {
		err := readParts(bytes.NewBufferString(stream), func(p operator.LogPart) error {
			if got := partOf(idOf(p)); got.Attempt != p.Attempt || got.Next != p.Next {
				t.Errorf("%+v becomes %+v", p, got)
			}
			return nil
		})
		if e := new(host.Error); err != nil && (!errors.As(err, &e) || e.Code != host.Internal) {
			t.Error(err)
		}
	})
}

// serveOptions serves a handler until the test ends, and returns a client of it.
func serveOptions(t *testing.T, o Options) *Client {
	t.Helper()
	data := t.TempDir()
	socket, err := Listen(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := Serve(ctx, socket, NewHandler(o)); err != nil {
			t.Error(err)
		}
	})
	c, err := Dial(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		if err := errors.Join(c.Close(), socket.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}
