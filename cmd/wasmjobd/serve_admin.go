package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// withServed calls do with the registry of a server. Meanwhile operators can reach
// an embedded registry through the server; no other process can open it.
func withServed(ctx context.Context, again *reloader, access config.Access, rows *sqltrace.Store, do func(registry.Registry) error) error {
	f, log := again.file(), again.log
	if f.Registry.Kind == config.ZooKeeper {
		return withRegistry(f, access, false, log, do)
	}
	r, err := host.OpenRegistry(f.Server.DataDir, log)
	if err != nil {
		return err
	}
	stop := serveAdmin(ctx, again, r, rows)
	err = do(r)
	stop() // before the lock of the directory goes with the registry: the next server makes a socket of its own
	return errors.Join(err, r.Close())
}

// serveAdmin answers operators on the socket in the data directory until stop is
// called. If that fails, the server runs all the same.
func serveAdmin(ctx context.Context, again *reloader, r registry.Registry, rows *sqltrace.Store) (stop func()) {
	f, log := again.file(), again.log
	s, err := admin.Listen(ctx, f.Server.DataDir)
	if err != nil {
		log.Error("operators cannot reach this server, its jobs run", "error", err)
		return func() {}
	}
	log.Info("operators reach this server", "socket", s.Path())
	keep := func(r io.Reader, digest string) error { return host.KeepModule(f.Server.DataDir, r, digest) }
	h := admin.NewHandler(admin.Options{Log: log, Keep: keep, Runs: runsOf(rows), Reload: again.ask, Nodes: true, Operate: func(ctx context.Context) (*operator.Operator, error) {
		op, err := operator.Open(ctx, r, f.Registry.Namespace)
		if err == nil {
			op.Compare(again.file().Jobs)
			op.Record(rows)
		}
		return op, err
	}})
	within, end := context.WithCancel(context.WithoutCancel(ctx)) // a draining server still answers
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := admin.Serve(within, s, h); err != nil {
			log.Error("operators cannot reach this server any more, its jobs run", "error", err)
		}
	})
	return func() {
		end()
		serving.Wait()
		if err := s.Close(); err != nil {
			log.Warn("the socket for operators was not removed", "error", err)
		}
	}
}

// runsOf reads pages of a history for operators.
func runsOf(rows *sqltrace.Store) admin.Runs {
	return func(ctx context.Context, w admin.RunsWanted) ([]trace.Row, string, error) {
		page, err := rows.Query(ctx, sqltrace.Filter{Job: w.Job, Item: w.Item, Run: w.Run, State: w.State, Limit: w.Limit, Cursor: w.Cursor})
		if errors.Is(err, sqltrace.ErrCursor) {
			err = &host.Error{Code: host.Invalid, Msg: "go on where a page ended", Err: err}
		}
		return page.Rows, page.Next, err
	}
}
