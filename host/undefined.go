package host

import (
	"context"
	"fmt"
	"maps"

	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/missed"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// undefined tells which jobs of the registry nobody runs, since they are in no file of a
// server that runs those of its files alone, and stores what they have missed: once for
// those that it finds at its start, and for each that a reload drops as it has left.
func (s *scout) undefined(line *session.Job) error {
	all, err := line.Read(s.ctx, s.root)
	if err != nil {
		return err
	}
	s.mu.Lock()
	known := maps.Clone(s.h.files)
	maps.Copy(known, s.told)
	s.mu.Unlock()
	var alone []string
	for _, name := range all.Children {
		if known[name] {
			continue
		}
		config, _, members := layout.NewJob(s.h.o.Namespace, name).Nodes()
		there, err := line.Read(s.ctx, config)
		if err != nil {
			return err
		}
		others, err := line.Read(s.ctx, members)
		if err != nil {
			return err
		}
		if there.Exists && len(others.Children) == 0 {
			alone = append(alone, name)
		}
	}
	if err := s.recordUndefined(alone, line); err != nil {
		return err
	}
	for _, name := range alone {
		s.h.o.Log.Warn("a job of the registry is in no file of this server: it does not run",
			"job", name, "cure", "write it into a file again, or remove it with job remove")
		s.mu.Lock()
		s.told[name] = true
		s.mu.Unlock()
	}
	return nil
}

// recordUndefined stores what such jobs have missed until now, if the registry is this
// server's own: on one that servers share, the file of another may have them. A program
// that embeds a host may be about to put them.
func (s *scout) recordUndefined(names []string, line *session.Job) error {
	if !s.h.o.Alone || len(s.h.o.Sinks) == 0 || line.Timeout() > 0 {
		return nil
	}
	for _, name := range names {
		l := layout.NewJob(s.h.o.Namespace, name)
		j := missed.Job{Name: name, Layout: l, Registry: line, View: func(ctx context.Context) (*protocol.View, error) { return viewOf(ctx, l, line) }}
		rows, err := j.Record(s.ctx, sinks(s.h.o.Sinks))
		if err != nil {
			return fmt.Errorf("job %s: %w", name, err)
		}
		for i := range rows {
			runner.Tell(s.ctx, s.h.o.Log.With("job", name), &rows[i])
		}
	}
	return nil
}

// viewOf reads a job that nobody writes.
func viewOf(ctx context.Context, l layout.Layout, line *session.Job) (*protocol.View, error) {
	w := follow.NewWatch(l, l.Watched())
	w.Read = func(paths []string) ([]registry.Node, error) {
		nodes := make([]registry.Node, len(paths))
		for i, path := range paths {
			var err error
			if nodes[i], err = line.Read(ctx, path); err != nil {
				return nil, err
			}
		}
		return nodes, nil
	}
	return w.View()
}
