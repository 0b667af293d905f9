package host

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/dump"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// dumpCommand is the line that a client sends, in upper or lower case.
	dumpCommand = "dump"
	// commandPatience limits the time for that line, and maxCommand its bytes.
	commandPatience = 5 * time.Second
	maxCommand      = 64
	// dumpPatience limits the time for one dump, and readPatience the time for each write to a
	// client that does not read.
	dumpPatience = time.Minute
	readPatience = 10 * time.Second
	// Pauses after an attempt to take a connection that failed are between these two.
	firstAcceptPause = 5 * time.Millisecond
	lastAcceptPause  = time.Second
	// maxDumps limits the connections for a job, and maxDumpsFrom those from one address.
	// Further connections are closed.
	maxDumps     = 16
	maxDumpsFrom = 2
)

// monitor serves the monitor port of a job in the server's own file, if it has one, until the
// job ends or gets another port. As in ElasticJob, the line "dump" is answered with the nodes
// of the job. If the port is taken, the job runs anyway.
func (h *Host) monitor(j *hosted) {
	h.mu.Lock()
	c := *j.config
	h.mu.Unlock()
	j.monitored.mu.Lock()
	defer j.monitored.mu.Unlock()
	if c.MonitorPort == 0 || j.monitored.end != nil {
		return
	}
	ctx, end := context.WithCancel(j.ctx)
	at := net.JoinHostPort(cmp.Or(h.o.MonitorIP, "127.0.0.1"), strconv.Itoa(c.MonitorPort))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		end()
		h.o.Log.Error("the monitor port cannot be opened, so it serves no dumps", "job", c.Name, "error", err)
		return
	}
	h.o.Log.Info("the monitor port serves dumps", "job", c.Name, "address", l.Addr().String())
	j.monitored.end = func() {
		end()
		_ = l.Close() // at once, as another job may be about to open the port
	}
	h.work.Go(func() { h.dumps(ctx, l, c.Name) })
}

// monitored is the monitor port of a job.
type monitored struct {
	mu  sync.Mutex // guards end, and is held while the port is opened
	end func()     // closes the port; nil if it is not open
}

// close closes the port.
func (m *monitored) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end != nil {
		m.end()
		m.end = nil
	}
}

// dumps serves the monitor port of the named job until ctx ends, and then waits for its answers.
func (h *Host) dumps(ctx context.Context, l net.Listener, name string) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // ends Accept
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	places := callers{open: map[netip.Prefix]int{}}
	for failures := 0; ; {
		c, err := l.Accept()
		if err != nil && (ctx.Err() != nil || errors.Is(err, net.ErrClosed)) {
			return
		}
		if err != nil { // such as a lack of file descriptors, which passes
			if failures++; failures == 1 {
				h.o.Log.Error("the monitor port takes no connections for now", "job", name, "error", err)
			}
			session.Sleep(ctx, backoff.After(firstAcceptPause, lastAcceptPause, failures))
			continue
		}
		failures = 0
		from := network(c.RemoteAddr())
		if !places.enter(from) {
			_ = c.Close() // nothing was sent
			continue
		}
		open.Go(func() {
			defer places.leave(from)
			if err := h.answer(ctx, c, name); err != nil && ctx.Err() == nil {
				h.o.Log.Warn("a dump could not be sent in full", "job", name, "to", c.RemoteAddr().String(), "error", err)
			}
		})
	}
}

// answer serves one connection to the monitor port of the named job.
func (h *Host) answer(ctx context.Context, c net.Conn, name string) error {
	ctx, cancel := context.WithTimeout(ctx, dumpPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // ends blocked reads and writes
	defer stop()
	defer c.Close() //nolint:errcheck // errors of writes are reported by then
	if err := c.SetReadDeadline(time.Now().Add(commandPatience)); err != nil {
		return fmt.Errorf("bound the wait for a command: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxCommand)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || !strings.EqualFold(strings.TrimSpace(line), dumpCommand) {
		return nil // any other line gets no answer
	}
	s, err := h.registry.Open(ctx, func(registry.Event) {})
	if err != nil {
		return fmt.Errorf("reach the registry: %w", err)
	}
	// A session of its own, since a long dump must not delay the reads of the jobs.
	return errors.Join(dump.Write(ctx, s, layout.NewJob(h.o.Namespace, name), patient{c}), s.Close())
}

// patient is a connection that limits the time of each write.
type patient struct{ net.Conn }

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(readPatience)); err != nil {
		return 0, fmt.Errorf("bound the wait for a reader: %w", err)
	}
	return p.Conn.Write(b) //nolint:wrapcheck // patient is transparent
}

// callers counts connections per network, so that one client cannot take them all.
type callers struct {
	mu   sync.Mutex // guards the fields below
	open map[netip.Prefix]int
	all  int // the sum of open
}

// enter counts a connection from a network. It returns false if there are too many already.
func (s *callers) enter(from netip.Prefix) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == maxDumps || s.open[from] == maxDumpsFrom {
		return false
	}
	s.all++
	s.open[from]++
	return true
}

// leave ends the count of a connection that enter has let in.
func (s *callers) leave(from netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.open[from]--; s.open[from] == 0 {
		delete(s.open, from)
	}
}

// network returns the addresses that one client can choose from: a single IPv4 address, or an
// IPv6 network of 64 bits.
func network(addr net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Prefix{} // connections without an address count as one client
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	from, _ := ip.Prefix(bits) // every address has that many bits
	return from
}
