package faults

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/test/faults/evidence"
)

// wedged lets the log pipe of a server fill up during runs, which must not affect other
// servers, and then cuts that server off.
func wedged(c *cluster) {
	s := c.servers[0]
	if err := s.stop(); err != nil {
		c.Error(err)
	}
	clog := s.startRead()
	c.settle(time.Now().UnixMilli())
	c.amidstOn(s)
	clog()
	c.settle(time.Now().UnixMilli())

	run := c.amidstOn(s)
	heal := c.net.cut(s.machine, c.ensemble.machines...)
	c.hit(s)
	c.takenOver(run)
	c.moved(s, c.lastHit())
	healed := time.Now().UnixMilli()
	heal()
	over := c.lastHit() + session.Milliseconds()
	c.await("the reports of the server's guests", func(lines []evidence.Line) bool {
		for _, l := range lines {
			if job.InstanceID(l.Server).IP() == s.machine.ip && l.At > over && l.At < healed {
				c.Errorf("%s, item %d, is at work on %s %d ms after its session was over", l.Job, l.Item, l.Server, l.At-over)
				break
			}
		}
		return true
	})
}

// amidstOn is amidst for one server.
func (c *cluster) amidstOn(s *server) evidence.Line {
	c.Helper()
	for {
		if run, on := c.amidst(); on == s {
			return run
		}
	}
}

// startRead starts a process whose log reaches its file through a pipe. clog stops
// reading the pipe, so that it fills up.
func (s *server) startRead() (clog func()) {
	c := s.cluster
	c.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		c.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		c.Fatal(err)
	}
	filler, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		c.Fatal(err)
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(log, r) // until its deadline
	}()
	c.Cleanup(func() { closeAll(c.T, r, filler, log) })
	s.launch(w)
	return func() {
		if err := r.SetReadDeadline(time.Now()); err != nil {
			c.Fatal(err)
		}
		<-copied
		if err := filler.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			c.Fatal(err)
		}
		for err = nil; err == nil; {
			_, err = filler.Write(make([]byte, 1))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			c.Fatalf("fill the pipe of the log: %v", err)
		}
	}
}

func closeAll(t *testing.T, files ...*os.File) {
	t.Helper()
	for _, f := range files {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
