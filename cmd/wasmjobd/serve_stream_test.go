package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host"
)

// valve is a reader that blocks until it is opened.
type valve struct {
	open  chan struct{}
	lines int
}

func (v *valve) Write(p []byte) (int, error) {
	<-v.open
	v.lines++
	return len(p), nil
}

func TestEventsForAReaderWhoStandsStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		said := &lockedBuffer{}
		log := slog.New(slog.NewTextHandler(said, nil))
		const many = 40_000
		began := time.Now()
		err := withEvents(v, log, func(emit func(host.Event)) error {
			for range many {
				emit(host.Event{})
			}
			if took := time.Since(began); took != 0 {
				t.Errorf("the jobs waited %s", took)
			}
			if !strings.Contains(said.String(), "events are lost") {
				t.Errorf("the log does not tell yet:\n%s", said)
			}
			close(v.open)
			synctest.Wait()
			emit(host.Event{})
			return nil
		})
		if err != nil || v.lines < many/10 || v.lines > many || strings.Count(said.String(), "\n") != 2 {
			t.Errorf("%d lines, %v", v.lines, err)
		}
		if want := fmt.Sprint("events_lost=", many+1-v.lines); !strings.Contains(said.String(), want) {
			t.Errorf("%q is missing in\n%s", want, said)
		}
	})
}

func TestEventsDoNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &valve{open: make(chan struct{})}
		failed := errors.New("failed")
		err := withEvents(v, slog.New(slog.DiscardHandler), func(emit func(host.Event)) error {
			emit(host.Event{})
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %v", err)
		}
		close(v.open)
	})
}

func TestEventsForAReaderWhoHasGone(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	said := &lockedBuffer{}
	err := withEvents(w, slog.New(slog.NewTextHandler(said, nil)), func(emit func(host.Event)) error {
		for range 10_000 {
			emit(host.Event{})
		}
		return nil
	})
	if err != nil || strings.Count(said.String(), "cannot be written any more") != 1 {
		t.Errorf("%v\n%s", err, said)
	}
}
