package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/wasmjob/wasmjob/host"
)

const (
	// streamRoom is how many events may wait for a reader who is busy.
	streamRoom = 4096
	// streamPatience is how long a guest waits for a reader who stands still:
	// the next ones do not, and lose their events.
	streamPatience = 5 * time.Second
)

// eventStream writes one JSON object a line, from a goroutine of its own. A
// reader who is slow holds the jobs up, which is what a pipe is for; one who
// stands still does so once and for a moment, and one who has gone not at all.
type eventStream struct {
	to       io.Writer
	log      *slog.Logger
	patience time.Duration
	lines    chan []byte
	stuck    atomic.Bool  // the reader stands still
	lost     atomic.Int64 // events that nobody will read
}

// withEvents lends do a function that tells of events on to.
func withEvents(to io.Writer, log *slog.Logger, patience time.Duration, do func(tell func(host.Event)) error) error {
	s := &eventStream{to: to, log: log, patience: patience, lines: make(chan []byte, streamRoom)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run()
	}()
	err := do(s.tell)
	close(s.lines)
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-done:
	case <-wait.C: // nothing ends a write but its reader, or the end of the process
		log.Error("standard output is not read, the last events are lost")
	}
	return err
}

func (s *eventStream) tell(e host.Event) {
	line := lineOf(e)
	select {
	case s.lines <- line:
		return
	default:
	}
	if !s.stuck.Load() {
		wait := time.NewTimer(s.patience)
		defer wait.Stop()
		select {
		case s.lines <- line:
			return
		case <-wait.C:
		}
		if !s.stuck.Swap(true) {
			s.log.Error("standard output is not read, events are lost")
		}
	}
	s.lost.Add(1)
}

func (s *eventStream) run() {
	for line := range s.lines {
		if _, err := s.to.Write(line); err != nil {
			s.log.Error("events cannot be written any more", "error", err)
			for range s.lines { // lets nobody wait
			}
			return
		}
		if s.stuck.Swap(false) {
			s.log.Warn("standard output is read again", "events_lost", s.lost.Swap(0))
		}
	}
}

func lineOf(e host.Event) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(jsonWriter{&b})
	enc.SetEscapeHTML(false)
	// Texts and numbers: there is nothing that could not be encoded.
	if e.Kind == host.EventStrategy {
		_ = enc.Encode(strategyLine{Event: e.Kind, UnixMS: e.At.UnixMilli(), Job: e.Config.Name, Instance: string(e.Instance), Reason: e.Reason})
		return b.Bytes()
	}
	if e.Kind == host.EventModule {
		_ = enc.Encode(moduleLine{Event: e.Kind, UnixMS: e.At.UnixMilli(), Digest: e.Outcome.Digest, Instance: string(e.Instance), Reason: e.Reason})
		return b.Bytes()
	}
	line := eventLine{
		Event: e.Kind, UnixMS: e.At.UnixMilli(), Job: e.Config.Name, Item: e.Item, TaskID: e.TaskID, Parameter: e.Parameter,
		Scheduled: e.Scheduled.UnixMilli(), Instance: string(e.Instance), Cause: string(e.Cause), State: string(e.State),
	}
	if e.Kind == host.EventWould || e.Kind == host.EventBegan {
		line.Owner = e.Reason
	}
	if e.Outcome.HasCode {
		line.Code = &e.Outcome.Code
	}
	_ = enc.Encode(line)
	return b.Bytes()
}
