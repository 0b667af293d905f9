package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// withHistory opens the history for writing. If its database is unreachable, Write waits for
// it, not withHistory.
func withHistory(ctx context.Context, f *config.File, at sqltrace.Location, do func(*sqltrace.Store) error) error {
	if f.History.Path != "" {
		if err := os.MkdirAll(filepath.Dir(f.History.Path), 0o700); err != nil {
			return fmt.Errorf("create the folder of the history: %w", err)
		}
	}
	rows, err := sqltrace.Later(at)
	if err != nil {
		return err
	}
	if f.History.Path != "" { // nothing makes a file reachable later, so its fault prevents the start
		err = rows.Ready(ctx)
	}
	if err != nil && ctx.Err() == nil { // otherwise a signal has ended Ready, and will end do at once
		return errors.Join(err, rows.Close())
	}
	return errors.Join(do(rows), rows.Close())
}

// tendHistory brings the tables of the history up to date, and then deletes old rows, until ctx
// ends.
func tendHistory(ctx context.Context, h config.History, log *slog.Logger, rows *sqltrace.Store) {
	awaitHistory(ctx, log, rows)
	purgeEvery(ctx, h, log, rows)
}

// historyPause is the time between two attempts to reach the database of the history.
const historyPause = 5 * time.Second

// awaitHistory brings the tables of the history up to date as soon as its database can be
// reached, so that it can be read before a run ends.
func awaitHistory(ctx context.Context, log *slog.Logger, rows *sqltrace.Store) {
	again := time.NewTicker(historyPause)
	defer again.Stop()
	for logged := false; ; {
		err := rows.Ready(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !logged { // only the first of many attempts
			logged = true
			log.Warn("the history cannot be reached; jobs run, and rows wait", "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// purgePause is the time between two purges.
const purgePause = time.Hour

// retention returns which rows the configuration keeps; all if it is zero.
func retention(h config.History) sqltrace.Retention {
	return sqltrace.Retention{Age: h.Age, PerJob: h.PerJob, Bytes: h.Size}
}

// purgeEvery deletes the rows that the retention does not keep, until ctx ends.
func purgeEvery(ctx context.Context, h config.History, log *slog.Logger, rows *sqltrace.Store) {
	keep := retention(h)
	if keep == (sqltrace.Retention{}) {
		return
	}
	again := time.NewTicker(purgePause)
	defer again.Stop()
	for {
		keep.Now = time.Now()
		n, err := rows.Purge(ctx, keep)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("old rows of the history could not be purged", "error", err)
		case n > 0:
			log.Info("old rows of the history purged", "rows", n)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// waitingFile has the rows that wait for an unreachable database.
const waitingFile = "history-waiting.db"

// countPatience bounds the counting of waiting rows.
const countPatience = time.Second

// withSpool calls do with the sink for rows: the history itself or, if its database is on a server, a
// spool, which is a file in which rows wait while that server is unreachable.
func withSpool(ctx context.Context, reload *reloader, rows *sqltrace.Store, do func(trace.Sink) error) error {
	f, log := reload.file(), reload.log
	if f.History.Address == "" {
		return do(rows)
	}
	file := sqltrace.File(filepath.Join(f.Server.DataDir, waitingFile))
	if err := os.MkdirAll(f.Server.DataDir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	spool, err := sqltrace.OpenSpool(context.WithoutCancel(ctx), rows, file, log)
	if err != nil {
		return err
	}
	reload.metrics.RowsInFile(func() int64 {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), countPatience)
		defer cancel()
		n, err := spool.Waiting(within)
		if err != nil { // for example in a large file, or because it is closed; n is then the last known number
			log.Debug("the waiting rows could not be counted", "error", err)
		}
		return n
	})
	delivering, stop := context.WithCancel(context.WithoutCancel(ctx)) // also while the jobs end
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		spool.Deliver(delivering)
	}()
	err = do(spool)
	stop()
	<-ended
	return errors.Join(err, spool.Close())
}
