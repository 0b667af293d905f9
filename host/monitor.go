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

	"github.com/wasmjob/wasmjob/host/internal/dump"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	// dumpCommand is what whoever connects says, in whatever case.
	dumpCommand = "dump"
	// commandPatience is how long it may take to say it, and maxCommand how
	// much may be said.
	commandPatience = 5 * time.Second
	maxCommand      = 64
	// dumpPatience bounds one dump, and readPatience how long a reader may stand
	// still meanwhile.
	dumpPatience = time.Minute
	readPatience = 10 * time.Second
	// maxDumps bounds the connections of a job at once, and maxDumpsFrom those from
	// one address. Who comes when there is no place is turned away.
	maxDumps     = 16
	maxDumpsFrom = 2
)

// monitor opens the monitor port of a job of the server's own file, if it has one,
// and answers there until the job ends, as ElasticJob does: to the line "dump" with the
// nodes of the job. A port that is taken is no reason not to run the job.
func (h *Host) monitor(j *hosted) {
	h.mu.Lock()
	c := *j.config
	h.mu.Unlock()
	ctx := j.ctx
	if c.MonitorPort == 0 {
		return
	}
	at := net.JoinHostPort(cmp.Or(h.o.MonitorIP, "127.0.0.1"), strconv.Itoa(c.MonitorPort))
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if err != nil {
		h.o.Log.Error("the monitor port cannot be opened, so nobody gets dumps there", "job", c.Name, "error", err)
		return
	}
	h.o.Log.Info("dumps can be had", "job", c.Name, "address", l.Addr().String())
	h.work.Go(func() { h.dumps(ctx, l, c.Name) })
}

// dumps serves a monitor port.
func (h *Host) dumps(ctx context.Context, l net.Listener, name string) {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // which ends Accept
	defer stop()
	var open sync.WaitGroup
	defer open.Wait()
	places := callers{open: map[netip.Prefix]int{}}
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() == nil {
				h.o.Log.Error("the monitor port is closed", "job", name, "error", err)
			}
			return
		}
		from := network(c.RemoteAddr())
		if !places.enter(from) {
			_ = c.Close() // nothing was said
			continue
		}
		open.Go(func() {
			defer places.leave(from)
			if err := h.answer(ctx, c, name); err != nil && ctx.Err() == nil {
				h.o.Log.Warn("a dump was not given in full", "job", name, "to", c.RemoteAddr().String(), "error", err)
			}
		})
	}
}

// answer serves one connection.
func (h *Host) answer(ctx context.Context, c net.Conn, name string) error {
	ctx, cancel := context.WithTimeout(ctx, dumpPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // which ends reads and writes
	defer stop()
	defer c.Close() //nolint:errcheck // what was written is flushed, or its error told
	if err := c.SetReadDeadline(time.Now().Add(commandPatience)); err != nil {
		return fmt.Errorf("bound the wait for a command: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxCommand)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || !strings.EqualFold(strings.TrimSpace(line), dumpCommand) {
		return nil // who says nothing, or something else, gets no answer
	}
	s, err := h.registry.Open(ctx, func(registry.Event) {})
	if err != nil {
		return fmt.Errorf("reach the registry: %w", err)
	}
	return errors.Join(dump.Write(ctx, s, layout.NewJob(h.o.Namespace, name), patient{c}), s.Close())
}

// patient gives the reader of a connection some time for each piece.
type patient struct{ net.Conn }

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	if err := p.SetWriteDeadline(time.Now().Add(readPatience)); err != nil {
		return 0, fmt.Errorf("bound the wait for a reader: %w", err)
	}
	return p.Conn.Write(b) //nolint:wrapcheck // it stands for the connection
}

// callers counts connections, so that one address does not take all places.
type callers struct {
	mu   sync.Mutex // guards what follows
	open map[netip.Prefix]int
	all  int
}

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

func (s *callers) leave(from netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.open[from]--; s.open[from] == 0 {
		delete(s.open, from)
	}
}

// network is what one caller has: an address of IPv4, or the 64 bits of IPv6 in
// which it can choose its address.
func network(addr net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Prefix{} // all that have none are one
	}
	ip, bits := at.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	from, _ := ip.Prefix(bits) // which any address has
	return from
}
