package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/shadow"
	"github.com/wasmjob/wasmjob/internal/queue"
)

// streamPatience is how long the end waits for a reader of the last events.
const streamPatience = 5 * time.Second

// withEvents calls do with a function that writes events to to, one JSON object per line. That
// function never blocks: events for which a slow reader leaves no room are dropped, and the log
// counts them.
func withEvents(to io.Writer, log *slog.Logger, do func(emit func(host.Event)) error) error {
	s := &eventStream{to: to, log: log}
	q := queue.New(
		func() { log.Error("standard output is not read, events are lost") },
		func(dropped int64) { log.Warn("standard output is read again", "events_lost", dropped) })
	err := do(func(e host.Event) {
		line := lineOf(e)
		q.Put(len(line), func() { s.write(line) })
	})
	if !q.Flush(streamPatience) { // only the reader, or the end of the process, ends a blocked write
		log.Error("standard output is not read, the last events are lost")
	}
	return err
}

// eventStream writes events. Only its queue uses it.
type eventStream struct {
	to   io.Writer
	log  *slog.Logger
	gone bool // the reader is gone
}

// write writes a line, unless an earlier write has failed: that is logged once.
func (s *eventStream) write(line []byte) {
	if s.gone {
		return
	}
	if _, err := s.to.Write(line); err != nil {
		s.gone = true
		s.log.Error("events cannot be written any more", "error", err)
	}
}

// lineOf returns an event as the line of JSON that --events prints.
func lineOf(e host.Event) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(jsonWriter{&b})
	enc.SetEscapeHTML(false)
	// The fields are texts and numbers, so encoding cannot fail.
	if e.Kind == host.EventStrategy || e.Kind == host.EventModule {
		_ = enc.Encode(faultLine{e.Kind, e.At.UnixMilli(), e.Config.Name, e.Outcome.Digest, string(e.Instance), e.Reason.String(), codeOf(e.Reason)})
		return b.Bytes()
	}
	line := eventLine{
		Event: e.Kind, UnixMS: e.At.UnixMilli(), Job: e.Config.Name, Item: e.Item, TaskID: e.TaskID, Parameter: e.Parameter,
		Scheduled: e.Scheduled.UnixMilli(), Instance: string(e.Instance), Cause: string(e.Cause), State: string(e.State), Run: e.Run, Attempt: e.Attempt,
	}
	if e.Kind == host.EventEnd {
		took := e.Outcome.Took.Milliseconds()
		line.Reason, line.reasonCode, line.Error, line.TookMS = e.Reason.String(), codeOf(e.Reason), e.Outcome.Error, &took
	}
	if e.Kind == shadow.Would || e.Kind == shadow.Began { // their reason is the owner
		line.Owner = e.Reason.String()
	}
	if e.Outcome.HasCode { // the entry has returned
		line.Code = &e.Outcome.Code
	}
	_ = enc.Encode(line)
	return b.Bytes()
}
