package operator

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

// logsWith returns the logs of a server whose history has these rows.
func logsWith(rows ...trace.Row) *RunLogs {
	return &RunLogs{Live: &runlog.Logs{}, History: func(context.Context, RunName) ([]trace.Row, error) { return rows, nil }}
}

// mute is a server that does not answer.
type mute struct{}

func (mute) RunLog(context.Context, RunName) ([]AttemptLog, []string, error) {
	return nil, nil, failf(host.Unavailable, nil, "it is away")
}

func (mute) FollowRunLog(context.Context, RunName, LogPart, func(LogPart) error) error {
	return failf(host.Unavailable, nil, "it is away")
}

// among returns the logs of a server that can ask others.
func among(l *RunLogs, others map[string]LogReader) *RunLogs {
	l.Others = func(context.Context, string) (map[string]LogReader, []string) { return others, nil }
	return l
}

// The attempts of a run are gathered from all servers, with the best log of each attempt. Servers
// that cannot be asked are named.
func TestLogsOfAllServers(t *testing.T) {
	t.Parallel()
	name := RunName{"j", 0, "1"}
	ran, dead := logsWith(trace.Row{Attempt: 2, State: trace.Failed, Log: "two\n", HasLog: true}), logsWith(trace.Row{Attempt: 2, State: trace.Lost}, trace.Row{Attempt: 1, State: trace.Failed, Log: "one\n", HasLog: true})
	_, runs := ran.Live.Begin(slog.New(slog.DiscardHandler), name.String(), 3)
	asked := among(dead, map[string]LogReader{"b": ran, "c": logsWith(), "d": mute{}})
	all, unread, err := asked.RunLog(t.Context(), name)
	if err != nil || len(all) != 3 || all[0].Log != "one\n" || all[1].Log != "two\n" || !all[2].Running || len(unread) != 1 || !strings.HasPrefix(unread[0], "d (") {
		t.Errorf("got %+v, %v, %v", all, unread, err)
	}
	if all, _, err = asked.Here().RunLog(t.Context(), name); err != nil || len(all) != 2 {
		t.Errorf("here are %+v, %v", all, err)
	}
	var parts []LogPart
	stop := errors.New("enough")
	ran.Live.End(runs)
	if err := asked.FollowRunLog(t.Context(), name, LogPart{}, func(p LogPart) error {
		parts = append(parts, p)
		return nil
	}); err != nil || len(parts) != 1 || parts[0].Attempt != 3 || !parts[0].Ended {
		t.Errorf("followed elsewhere: %+v, %v", parts, err)
	}
	if err := asked.Here().FollowRunLog(t.Context(), name, LogPart{}, func(p LogPart) error {
		if p.Attempt != 2 || !p.Ended {
			t.Errorf("followed here: %+v", p)
		}
		return stop
	}); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestLogsThatAreNowhere(t *testing.T) {
	t.Parallel()
	name := RunName{"j", 0, "1"}
	for _, tt := range []struct {
		logs *RunLogs
		code host.Code
	}{
		{logsWith(), host.NotFound},
		{among(logsWith(), map[string]LogReader{"b": logsWith()}), host.NotFound},
		{among(logsWith(), map[string]LogReader{"b": mute{}}), host.Unavailable},
	} {
		if _, _, err := tt.logs.RunLog(t.Context(), name); !isCode(err, tt.code) || !strings.Contains(err.Error(), "j/0/1") {
			t.Errorf("got %v, want %s", err, tt.code)
		}
		if err := tt.logs.FollowRunLog(t.Context(), name, LogPart{}, nil); !isCode(err, tt.code) {
			t.Errorf("following gives %v, want %s", err, tt.code)
		}
	}
}

func TestNamesOfRuns(t *testing.T) {
	t.Parallel()
	if n, err := ParseRun("a job/3/17"); err != nil || n != (RunName{"a job", 3, "17"}) || n.String() != "a job/3/17" {
		t.Errorf("got %+v, %v", n, err)
	}
	if n, err := ParseRun("j/0/1970-01-01T00:00:01+00:00"); err != nil || n.Run != "1000" {
		t.Errorf("by its time it is %+v, %v", n, err)
	}
	for _, wrong := range []string{"", "j", "j/0", "j/0/", "/0/1", "j/x/1", "j/-1/1", "j/0/1/2"} {
		if n, err := ParseRun(wrong); !isCode(err, host.Invalid) {
			t.Errorf("%q is the run %+v: %v", wrong, n, err)
		}
	}
}
