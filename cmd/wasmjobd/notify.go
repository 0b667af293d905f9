package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/metrics"
)

const (
	// notifyEvery is the interval of reports to the service manager.
	notifyEvery = 5 * time.Second
	// drainExtension is the additional time that a draining server asks for each time. The
	// server itself bounds the drain.
	drainExtension = 30 * time.Second
)

// notifier reports the state of a server to systemd, like sd_notify. A nil notifier reports
// nothing.
type notifier struct {
	socket net.Conn
	every  time.Duration
	dogged bool // the service manager restarts a server that is stuck
	log    *slog.Logger
}

// notified is the part of a Host that is reported.
type notified interface {
	Ready() <-chan struct{}
	Gauges() host.Gauges
	Healthy() error
	Alive(ctx context.Context) error
}

// newNotifier returns the notifier for the socket that the environment names; nil if there is
// none.
func newNotifier(env []string, log *slog.Logger) *notifier {
	path, _ := variable(env, "NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	socket, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		log.Error("the service manager cannot be notified", "error", err)
		return nil
	}
	n := &notifier{socket: socket, every: notifyEvery, log: log}
	// systemd restarts a server that is silent for WATCHDOG_USEC, so n reports three times as often. The
	// variables may be inherited: then WATCHDOG_PID is another process, which systemd watches instead.
	pid, _ := variable(env, "WATCHDOG_PID")
	usec, _ := variable(env, "WATCHDOG_USEC")
	if us, err := strconv.ParseInt(usec, 10, 64); err == nil && us > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.dogged, n.every = true, max(min(n.every, time.Duration(us)*time.Microsecond/3), time.Millisecond)
	}
	return n
}

// send sends lines in sd_notify's form, NAME=VALUE. It waits a second at most for a manager that does
// not read.
func (n *notifier) send(lines string) {
	if n == nil {
		return
	}
	err := n.socket.SetWriteDeadline(time.Now().Add(time.Second))
	if err == nil {
		_, err = n.socket.Write([]byte(lines))
	}
	if err != nil {
		n.log.Warn("the service manager was not notified", "error", err)
	}
}

// reloading reports that the files are read again, until the returned function is called.
func (n *notifier) reloading() (done func()) {
	n.send(fmt.Sprintf("RELOADING=1\nMONOTONIC_USEC=%d", monotonic().Microseconds()))
	return func() { n.send("READY=1") }
}

// run reports the state of a host until ended is closed: when it is ready, when it begins to stop, and
// in between at intervals. stopping is the context whose end makes the host stop. While the host
// stops, its guests may need longer than the manager's time limit, so each report asks for more time.
func (n *notifier) run(stopping context.Context, ended <-chan struct{}, h notified, m *metrics.Metrics) {
	if n == nil {
		return
	}
	defer n.socket.Close() //nolint:errcheck // all messages were sent
	again := time.NewTicker(n.every)
	defer again.Stop()
	ready, stop := h.Ready(), stopping.Done()
	for {
		select {
		case <-ready:
			ready = nil // a closed channel would be chosen again and again
			n.send("READY=1\nSTATUS=" + statusLine(h, m))
		case <-stop:
			stop = nil
			n.send("STOPPING=1\nSTATUS=" + statusLine(h, m) + extension())
		case <-again.C:
			lines := "STATUS=" + statusLine(h, m)
			if stop == nil { // it has begun to stop
				lines += extension()
			}
			if n.dogged && h.Alive(context.WithoutCancel(stopping)) == nil {
				lines += "\nWATCHDOG=1"
			}
			n.send(lines)
		case <-ended:
			return
		}
	}
}

// extension asks the service manager to wait longer for the end of the server.
func extension() string {
	return fmt.Sprintf("\nEXTEND_TIMEOUT_USEC=%d", drainExtension.Microseconds())
}

// statusLine is the line that "systemctl status" shows.
func statusLine(h notified, m *metrics.Metrics) string {
	g := h.Gauges()
	line := fmt.Sprintf("leader of %d of %d jobs; %d running", g.Leads, g.Jobs, m.Running())
	switch {
	case g.Draining:
		return "stopping; " + line
	case g.Loading > 0:
		return fmt.Sprintf("%d of %d jobs wait for their modules", g.Loading, g.Jobs)
	case h.Healthy() != nil:
		return "no registry; " + line
	}
	return line
}
