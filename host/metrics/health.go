package metrics

import (
	"context"
	"fmt"
)

// Check is one condition for a server to be ready.
type Check struct {
	Name  string
	Fault string // why the condition does not hold; "" if it does
}

// Checks returns the conditions for the server to be ready: its jobs have started, it has a
// registry session, the history takes rows, the modules needed at the start are compiled, and
// it is not shutting down.
func (m *Metrics) Checks() []Check {
	h := m.host.Load()
	if h == nil {
		return []Check{{"started", "the server is starting"}}
	}
	g := h.Gauges()
	check := func(name string, bad bool, format string, args ...any) Check {
		c := Check{Name: name}
		if bad {
			c.Fault = fmt.Sprintf(format, args...)
		}
		return c
	}
	err := h.Healthy()
	history := check("history", g.Unwritable > 0, "%d jobs cannot store their rows, %d rows wait", g.Unwritable, g.Unstored)
	if n := m.rowsInFile(); n > 0 && history.Fault == "" {
		history = check("history", true, "%d rows wait in a file of this server until its database takes them", n)
	}
	return []Check{
		check("started", !g.Started, "the server is starting"),
		check("registry", err != nil, "%v", err),
		history,
		check("modules", g.Loading > 0, "%d jobs wait for the compilation of their module", g.Loading),
		check("draining", g.Draining, "the server is shutting down"),
	}
}

// Alive returns why the process is stuck and must be restarted; nil if it is not, or while the
// server is starting. An unavailable registry or history is no reason, since a restart does not
// bring it back.
func (m *Metrics) Alive(ctx context.Context) error {
	if h := m.host.Load(); h != nil {
		return h.Alive(ctx)
	}
	return nil
}
