package operator

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/runlog"
	"github.com/wasmjob/wasmjob/host/trace"
)

// RunName names a run of an item.
type RunName struct {
	Job  string
	Item int
	Run  string
}

func (n RunName) String() string { return n.Job + "/" + strconv.Itoa(n.Item) + "/" + n.Run }

// ParseRun parses the name of a run as logs and events write it, job/item/run. The time of its
// instant may stand in place of run.
func ParseRun(text string) (RunName, error) {
	name, rest, _ := strings.Cut(text, "/")
	number, run, _ := strings.Cut(rest, "/")
	item, err := strconv.Atoi(number)
	if err != nil || item < 0 || name == "" || run == "" || strings.Contains(run, "/") {
		return RunName{}, failf(host.Invalid, nil, "%.300q is not the name of a run; write job/item/run, as the log and the history have it", text)
	}
	return RunName{name, item, runID(run)}, nil
}

// runID is the id of a run that is given by its id or by the time of its instant, which lists of
// the history show.
func runID(text string) string {
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return strconv.FormatInt(at.UnixMilli(), 10)
	}
	return text
}

// AttemptLog is the end of the log of an attempt.
type AttemptLog struct {
	Attempt  int         `json:"attempt"`
	Running  bool        `json:"running,omitempty"` // no history has its row yet
	State    trace.State `json:"state,omitempty"`   // of its row
	Instance string      `json:"instance,omitempty"`
	Kept     bool        `json:"kept"` // false: its log was not kept; true with an empty Log: it logged nothing
	Log      string      `json:"log"`
}

// LogPart is a piece of the log of a followed run.
type LogPart struct {
	Attempt int    `json:"attempt"`
	Next    int64  `json:"next"` // where the following part begins
	Text    string `json:"text"`
	Gap     bool   `json:"gap,omitempty"`   // lines before Text are lost
	Ended   bool   `json:"ended,omitempty"` // the attempt has ended, and this is its last part
}

// LogReader reads the logs of runs.
type LogReader interface {
	// RunLog returns the logs of all attempts of a run, the first one first. unread names
	// servers that may have more, but cannot be asked.
	RunLog(ctx context.Context, name RunName) (all []AttemptLog, unread []string, err error)
	// FollowRunLog reports the log of a run's newest attempt as it grows, until the attempt
	// ends or report returns an error. after is the last part that the caller has.
	FollowRunLog(ctx context.Context, name RunName, after LogPart, report func(LogPart) error) error
}

// RunLogs are the logs of the runs of a server, and of other servers.
type RunLogs struct {
	// Live has the logs of runs that are open here; nil: there are none.
	Live *runlog.Logs
	// History returns the attempts of a run with their logs.
	History func(context.Context, RunName) ([]trace.Row, error)
	// Others returns the other servers by their addresses, and the names of those that a job
	// knows but that cannot be asked; nil: there are none.
	Others func(ctx context.Context, name string) (map[string]LogReader, []string)
}

// ReadLogs sets the logs that the Operator reads.
func (o *Operator) ReadLogs(l *RunLogs) { o.logs = l }

// RunLog is LogReader.RunLog of the logs that ReadLogs set.
func (o *Operator) RunLog(ctx context.Context, name RunName) ([]AttemptLog, []string, error) {
	return o.logs.RunLog(ctx, name)
}

// FollowRunLog is LogReader.FollowRunLog of the logs that ReadLogs set.
func (o *Operator) FollowRunLog(ctx context.Context, name RunName, after LogPart, report func(LogPart) error) error {
	return o.logs.FollowRunLog(ctx, name, after, report)
}

// Here returns the logs of this server alone.
func (l *RunLogs) Here() *RunLogs { return &RunLogs{Live: l.Live, History: l.History} }

// RunLog implements LogReader. If several servers have the log of an attempt, it returns the one that says most.
func (l *RunLogs) RunLog(ctx context.Context, name RunName) ([]AttemptLog, []string, error) {
	own, err := l.own(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	found, unread := l.elsewhere(ctx, name)
	best := map[int]AttemptLog{}
	for _, a := range own {
		best[a.Attempt] = a
	}
	for _, of := range found {
		for _, a := range of.all {
			if have, ok := best[a.Attempt]; !ok || better(a, have) {
				best[a.Attempt] = a
			}
		}
	}
	if len(best) == 0 {
		return nil, nil, noLog(name, unread)
	}
	all := make([]AttemptLog, 0, len(best))
	for _, a := range best {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b AttemptLog) int { return a.Attempt - b.Attempt })
	return all, unread, nil
}

// better reports whether a says more of the same attempt than b.
func better(a, b AttemptLog) bool {
	if a.Kept != b.Kept {
		return a.Kept
	}
	return !a.Running && b.Running
}

// noLog is the error of a run that was not found anywhere.
func noLog(name RunName, unread []string) error {
	if len(unread) > 0 {
		return failf(host.Unavailable, nil, "no server that answers has a run %.600q%s", name.String(), unanswered(unread))
	}
	return failf(host.NotFound, nil, "no history has a run %.600q, and no server runs it", name.String())
}

// own returns what this server knows of a run, by attempt: the rows of its history, and the log in memory of an
// attempt that has no row yet.
func (l *RunLogs) own(ctx context.Context, name RunName) ([]AttemptLog, error) {
	var all []AttemptLog
	lines := l.Live.Of(name.String()) // read before the history, to which it may move meanwhile
	rows, err := l.History(ctx, name)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		r := &rows[i]
		all = append(all, AttemptLog{Attempt: r.Attempt, State: r.State, Instance: r.Instance, Kept: r.HasLog, Log: r.Log})
		if lines != nil && lines.Attempt() == r.Attempt {
			lines = nil
		}
	}
	if lines != nil {
		all = append(all, AttemptLog{Attempt: lines.Attempt(), Running: true, Kept: true, Log: lines.Kept()})
	}
	return all, nil
}

// answer is what another server has of a run.
type answer struct {
	from LogReader
	all  []AttemptLog
}

// elsewhere asks the other servers for the logs of a run. unread names those that may have more.
func (l *RunLogs) elsewhere(ctx context.Context, name RunName) (found []answer, unread []string) {
	if l.Others == nil {
		return nil, nil
	}
	others, unlisted := l.Others(ctx, name.Job)
	var mu sync.Mutex // guards found
	unread = AskAll(ctx, others, func(ctx context.Context, _ string, server LogReader) error {
		all, _, err := server.RunLog(ctx, name)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		found = append(found, answer{server, all})
		return nil
	})
	return found, append(unread, unlisted...)
}

// FollowRunLog implements LogReader. It follows the log in memory here or, if another server runs the attempt,
// there. If the run goes on nowhere, it reports the log that was kept.
func (l *RunLogs) FollowRunLog(ctx context.Context, name RunName, after LogPart, report func(LogPart) error) error {
	if lines := l.Live.Of(name.String()); lines != nil {
		return followLines(ctx, lines, after, report)
	}
	found, unread := l.elsewhere(ctx, name)
	for _, of := range found {
		if slices.ContainsFunc(of.all, func(a AttemptLog) bool { return a.Running }) {
			return of.from.FollowRunLog(ctx, name, after, report)
		}
	}
	last, err := l.own(ctx, name)
	if err != nil {
		return err
	}
	for _, of := range found {
		last = append(last, of.all...)
	}
	if len(last) == 0 {
		return noLog(name, unread)
	}
	a := slices.MaxFunc(last, func(a, b AttemptLog) int { return a.Attempt - b.Attempt })
	if after.Attempt == a.Attempt { // where after ends in the kept log is not known
		return report(LogPart{Attempt: a.Attempt, Next: after.Next, Gap: true, Ended: true})
	}
	return report(LogPart{Attempt: a.Attempt, Next: int64(len(a.Log)), Text: a.Log, Ended: true})
}

// followLines reports the log of an attempt as it grows, from the end of after on if that is of the same attempt.
func followLines(ctx context.Context, lines *runlog.Lines, after LogPart, report func(LogPart) error) error {
	var seen int64
	if after.Attempt == lines.Attempt() {
		seen = after.Next
	}
	for {
		part := lines.After(seen)
		if part.Text != "" || part.Gap || part.Ended {
			if err := report(LogPart{Attempt: lines.Attempt(), Next: part.Next, Text: part.Text, Gap: part.Gap, Ended: part.Ended}); err != nil {
				return err
			}
		}
		if part.Ended {
			return nil
		}
		seen = part.Next
		select {
		case <-part.More:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
