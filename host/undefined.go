package host

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/follow"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/missed"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/internal/runner"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
)

// undefined warns about jobs of the registry that are in no file of this server and that no
// server runs, and stores their missed instants. It is for a server without Discover. names are
// the jobs in no file, and js is the session to read with.
func (h *Host) undefined(ctx context.Context, names []string, js *session.Job) error {
	var created []string
	if h.o.Created {
		var err error
		if created, err = h.created(ctx, names, js); err != nil {
			return err
		}
	}
	var alone []string
	for _, name := range names {
		if slices.Contains(created, name) {
			continue // this server runs it
		}
		config, _, members := layout.NewJob(h.o.Namespace, name).Nodes()
		there, err := js.Read(ctx, config)
		if err != nil {
			return err
		}
		others, err := js.Read(ctx, members)
		if err != nil {
			return err
		}
		if there.Exists && len(others.Children) == 0 {
			alone = append(alone, name)
		}
	}
	if err := h.recordUndefined(ctx, alone, js); err != nil {
		return err
	}
	for _, name := range alone {
		h.o.Log.Warn("a job of the registry is in no file of this server: it does not run",
			"job", name, "cure", "write it into a file again, or remove it with job remove")
	}
	return nil
}

// created returns those of the jobs that an operator created, which no file has ever defined,
// without jobs in this server's file.
func (h *Host) created(ctx context.Context, names []string, js *session.Job) ([]string, error) {
	h.mu.Lock()
	own := map[string]bool{}
	for _, j := range h.jobs[:h.owned()] {
		own[j.config.Name] = true
	}
	h.mu.Unlock()
	var all []string
	for _, name := range names {
		if own[name] {
			continue
		}
		_, path, _ := layout.NewJob(h.o.Namespace, name).Nodes()
		n, err := js.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		if m, err := definition.DecodeModule(n.Data); n.Exists && err == nil && !m.Applied() {
			all = append(all, name)
		}
	}
	return all, nil
}

// recordUndefined stores the missed instants of jobs that no file has, if the registry is this
// server's own. In a shared registry the file of another server may have such a job, and a
// program that embeds a host may be about to Put it.
func (h *Host) recordUndefined(ctx context.Context, names []string, js *session.Job) error {
	if !h.o.Alone || len(h.o.Sinks) == 0 || js.Timeout() > 0 { // sessions of the registry inside have no time-out
		return nil
	}
	for _, name := range names {
		l, err := layout.Found(h.o.Namespace, name, func(paths []string) ([]registry.Node, error) { return readEach(ctx, js, paths) })
		if err != nil {
			return fmt.Errorf("job %s: %w", name, err)
		}
		log := h.o.Log.With("job", name)
		j := missed.Job{
			Name: name, Layout: l, Registry: js, View: func(ctx context.Context) (*protocol.View, error) { return viewOf(ctx, l, js) },
			Refused: func(r trace.Row, err error) {
				log.Error("a row is lost, because the history refuses it", "item", r.Item, "run", r.Run, "error", err)
			},
		}
		rows, err := j.Record(ctx, sinks(h.o.Sinks))
		if err != nil {
			return fmt.Errorf("job %s: %w", name, err)
		}
		for i := range rows {
			runner.LogRow(ctx, log, &rows[i], job.LogErrors)
			h.o.count(&Event{Kind: EventRow, At: time.Now(), Row: &rows[i]})
		}
	}
	return nil
}

// viewOf reads a job that no server runs, so it needs no events to get one moment of the tree.
func viewOf(ctx context.Context, l layout.Layout, js *session.Job) (*protocol.View, error) {
	w := follow.NewWatch(l, l.Watched())
	w.Read = func(paths []string) ([]registry.Node, error) { return readEach(ctx, js, paths) }
	return w.View()
}
