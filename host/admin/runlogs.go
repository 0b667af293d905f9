package admin

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

type runLogDocument struct {
	Version  int                   `json:"version"`
	Attempts []operator.AttemptLog `json:"attempts"`
	// Unread names the servers that did not answer and may have more.
	Unread []string `json:"unread,omitempty"`
}

// runName returns the name of the run in the path.
func (r *request) runName() (operator.RunName, error) {
	name, err := r.jobName()
	if err != nil {
		return operator.RunName{}, err
	}
	return operator.ParseRun(name + "/" + r.PathValue("item") + "/" + r.PathValue("run"))
}

// readRunLog answers with the logs of all attempts of a run.
func readRunLog(r *request) (runLogDocument, error) {
	name, err := r.runName()
	if err != nil {
		return runLogDocument{}, err
	}
	all, unread, err := r.logs().RunLog(r.Context(), name)
	return runLogDocument{1, orEmpty(all), unread}, err
}

// followedLog ends the path of a log that is followed.
const followedLog = "/logs/follow"

// logEvent is the kind of the events of a log.
const logEvent = "log"

// followRunLog sends the log of a run as it grows, from the part after the client's last one on. Once the stream has
// begun, an error can only end it; before, it is the answer.
func followRunLog(r *request) error {
	name, err := r.runName()
	if err != nil {
		return err
	}
	leave, err := r.beginStream()
	if err != nil {
		return err
	}
	defer leave()
	ctx, end := context.WithTimeout(r.Context(), streamTime)
	defer end()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer end() // before the wait, which it ends
	waiting.Go(func() { r.endStream(ctx, end) })
	var text bytes.Buffer
	begin := sync.OnceFunc(func() {
		r.w.Header().Set("Content-Type", eventsType)
		text.WriteString("retry: 100\n\n")
	})
	sentAny := false
	err = r.logs().FollowRunLog(ctx, name, partOf(r.Header.Get(lastEventHeader)), func(p operator.LogPart) error {
		sentAny = true
		begin()
		data, err := json.Marshal(p)
		if err != nil {
			return fmt.Errorf("write a part of a log: %w", err)
		}
		fmt.Fprintf(&text, "id: %s\nevent: %s\ndata: %s\n\n", idOf(p), logEvent, data)
		if !r.stillAdmitted() || !r.push(&text) {
			return context.Canceled // the caller is gone, or not admitted any more
		}
		return nil
	})
	if err != nil && !sentAny && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	begin() // a stream without a part has to begin, too
	r.push(&text)
	return nil
}

// endStream ends a stream when the server stops, or its caller is not admitted any more.
func (r *request) endStream(ctx context.Context, end func()) {
	ended, _ := ctx.Value(endedKey{}).(<-chan struct{}) // closed when the server stops
	admit := time.NewTicker(admitEvery)
	defer admit.Stop()
	for ctx.Err() == nil {
		select {
		case <-ended:
			end()
		case <-admit.C:
			if !r.stillAdmitted() {
				end()
			}
		case <-ctx.Done():
		}
	}
}

// idOf is the id of an event with a part of a log.
func idOf(p operator.LogPart) string {
	return strconv.Itoa(p.Attempt) + "-" + strconv.FormatInt(p.Next, 10)
}

// partOf returns the part with an id; for any other text, the zero part, which precedes all others.
func partOf(id string) operator.LogPart {
	attempt, next, _ := strings.Cut(id, "-")
	p := operator.LogPart{}
	var err error
	if p.Attempt, err = strconv.Atoi(attempt); err != nil || p.Attempt < 0 {
		return operator.LogPart{}
	}
	if p.Next, err = strconv.ParseInt(next, 10, 64); err != nil || p.Next < 0 {
		return operator.LogPart{}
	}
	return p
}

// runLogPath is the path of the log of a run.
func runLogPath(name operator.RunName) string {
	return runsPath + url.PathEscape(name.Job) + "/" + strconv.Itoa(name.Item) + "/" + url.PathEscape(name.Run) + "/logs"
}

// RunLog implements operator.LogReader.
func (c *Client) RunLog(ctx context.Context, name operator.RunName) ([]operator.AttemptLog, []string, error) {
	if _, err := checkName(name.Job); err != nil {
		return nil, nil, err
	}
	var d runLogDocument
	err := c.read(ctx, http.MethodGet, runLogPath(name), nil, &d)
	return d.Attempts, d.Unread, err
}

// streamPause is the pause before a stream that has ended is requested again.
const streamPause = 100 * time.Millisecond

// FollowRunLog implements operator.LogReader. It requests a new stream whenever the server ends one before the
// attempt has ended.
func (c *Client) FollowRunLog(ctx context.Context, name operator.RunName, after operator.LogPart, report func(operator.LogPart) error) error {
	if _, err := checkName(name.Job); err != nil {
		return err
	}
	for {
		err := c.followOnce(ctx, runLogPath(name)+"/follow", after, func(p operator.LogPart) error {
			after = p
			return report(p)
		})
		if err != nil || after.Ended {
			return err
		}
		select {
		case <-time.After(streamPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// followOnce reports the parts of a log that follow after, until the stream ends or is
// interrupted.
func (c *Client) followOnce(ctx context.Context, path string, after operator.LogPart, report func(operator.LogPart) error) error {
	r, err := c.newRequest(ctx, http.MethodGet, path, "", http.NoBody)
	if err != nil {
		return err
	}
	if after.Attempt > 0 {
		r.Header.Set(lastEventHeader, idOf(after))
	}
	answer, err := c.do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	return readParts(answer.Body, report)
}

// maxPart limits an event with a part of a log, in bytes.
const maxPart = 256 << 10

// readParts reports the parts of a log in a stream of events. An interruption of the stream is
// no error, since FollowRunLog reconnects.
func readParts(stream io.Reader, report func(operator.LogPart) error) error {
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, maxPart)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		var p operator.LogPart
		if err := json.Unmarshal(data, &p); err != nil || p.Attempt < 0 || p.Next < 0 {
			return &host.Error{Code: host.Internal, Msg: "the server sends something other than parts of a log", Err: err}
		}
		if err := report(p); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return &host.Error{Code: host.Internal, Msg: "the server sends a part of a log that is too long", Err: err}
	}
	return nil
}
