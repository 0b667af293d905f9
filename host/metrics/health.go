package metrics

import (
	"context"
	"fmt"
)

// Check is one thing that a server needs to do its work.
type Check struct {
	Name  string
	Fault string // why it is not there; "": it is
}

// Checks returns what a server needs to do its work: that its jobs have begun, a session of
// the registry, a history that takes rows, that the modules of the start were compiled, and
// that it does not end.
func (m *Metrics) Checks() []Check {
	h := m.host.Load()
	if h == nil {
		return []Check{{"started", "the server starts"}}
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
		check("started", !g.Started, "the server starts"),
		check("registry", err != nil, "%v", err),
		history,
		check("modules", g.Loading > 0, "%d jobs wait for the compilation of their module", g.Loading),
		check("draining", g.Draining, "the server ends"),
	}
}

// Alive returns why the process is stuck and has to be restarted; nil: it is not. While
// the server starts, nobody can tell. A registry or a history that is away is no reason: a
// restart brings neither back.
func (m *Metrics) Alive(ctx context.Context) error {
	if h := m.host.Load(); h != nil {
		return h.Alive(ctx)
	}
	return nil
}
