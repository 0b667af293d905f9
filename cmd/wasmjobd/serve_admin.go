package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// withServed calls do with the registry of a server. Meanwhile operators can reach an embedded
// registry through the server's socket, since no other process can open it, and any registry
// through the address of [admin]. shared is the one session in which their requests use the registry.
func withServed(ctx context.Context, reload *reloader, access config.Access, rows *sqltrace.Store, do func(r registry.Registry, shared *operator.SharedSession) error) error {
	f, log := reload.file(), reload.log
	atAddress := func(r registry.Registry, shared *operator.SharedSession) error {
		stop, err := serveAddress(ctx, reload, r, shared, rows)
		if err != nil {
			return err
		}
		defer stop()
		return do(r, shared)
	}
	if f.Registry.Kind == config.ZooKeeper {
		warnOfUnused(f.Server.DataDir, log)
		const readOnly = false
		return withRegistry(f, access, readOnly, log, func(r registry.Registry) error {
			shared := operator.NewSharedSession(r, f.Registry.Namespace)
			return errors.Join(atAddress(r, shared), shared.Close())
		})
	}
	r, err := host.OpenRegistry(f.Server.DataDir, log)
	if err != nil {
		return err
	}
	shared := operator.NewSharedSession(r, f.Registry.Namespace)
	stop := serveSocket(ctx, reload, shared, rows)
	err = atAddress(r, shared)
	stop() // before the lock of the directory is released with the registry: the next server creates its own socket
	return errors.Join(err, shared.Close(), r.Close())
}

// serveSocket answers operators on the socket in the data directory until stop is called. If
// that fails, the server runs anyway.
func serveSocket(ctx context.Context, reload *reloader, shared *operator.SharedSession, rows *sqltrace.Store) (stop func()) {
	log := reload.log
	s, err := admin.Listen(ctx, reload.file().Server.DataDir)
	if err != nil {
		log.Error("operators cannot reach this server, its jobs run", "error", err)
		return func() {}
	}
	log.Info("operators reach this server", "socket", s.Path())
	o := answers(reload, shared, rows)
	o.Nodes = true // requests may read nodes: only the server's user can reach the socket
	end := serveOn(ctx, s, admin.NewHandler(o), log)
	return func() {
		end()
		if err := s.Close(); err != nil {
			log.Warn("the socket for operators was not removed", "error", err)
		}
	}
}

// serveAddress answers callers with tokens at the address of [admin], if there is one, until
// stop is called. While another program uses the address, the jobs run without it.
func serveAddress(ctx context.Context, reload *reloader, r registry.Registry, shared *operator.SharedSession, rows *sqltrace.Store) (stop func(), err error) {
	f, log := reload.file(), reload.log
	if f.Admin.Listen == "" {
		return func() {}, nil
	}
	tokens := operator.NewKeyring(r, f.Registry.Namespace, log)
	listen := func() (net.Listener, error) {
		return admin.ListenTCP(ctx, f.Admin.Listen, admin.TLS(f.Admin.TLS), tokens, log)
	}
	l, err := listen()
	if err == nil {
		return serveCallers(ctx, l, reload, tokens, shared, rows), nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return nil, err
	}
	taken := err.Error()
	reload.taken.Store(&taken)
	log.Error("callers cannot reach this server while another program has its address: stop that program, or change listen in [admin]; the jobs run, and the server tries again",
		"address", f.Admin.Listen, "every", listenPause.String(), "error", err)
	within, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until stop is called, also while the server drains
	var serving sync.WaitGroup
	serving.Go(func() {
		l := listenAgain(within, listen, log)
		if l == nil {
			return
		}
		reload.taken.Store(nil)
		end := serveCallers(ctx, l, reload, tokens, shared, rows)
		<-within.Done()
		end()
	})
	return func() {
		cancel()
		serving.Wait()
	}, nil
}

// listenPause is the time between two attempts to listen at an address.
const listenPause = 2 * time.Second

// listenAgain listens as soon as the address is free. It returns nil at the end of ctx, or if
// it cannot listen for another reason, which it logs.
func listenAgain(ctx context.Context, listen func() (net.Listener, error), log *slog.Logger) net.Listener {
	again := time.NewTicker(listenPause)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
		l, err := listen()
		if err == nil {
			return l
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			log.Error("callers cannot reach this server until its next start; the jobs run", "error", err)
			return nil
		}
	}
}

// serveCallers answers callers with tokens on a listener until stop is called.
func serveCallers(ctx context.Context, l net.Listener, reload *reloader, tokens *operator.Keyring, shared *operator.SharedSession, rows *sqltrace.Store) (stop func()) {
	f, log := reload.file(), reload.log
	within, cancel := context.WithCancel(context.WithoutCancel(ctx)) // until stop is called, also while the server drains
	o := answers(reload, shared, rows)
	if ip, _, err := serverIP(f); err == nil && f.Registry.Kind == config.ZooKeeper { // otherwise there are no others
		// The others ask this server at its address, and it asks them, for what only one of them knows.
		tokens.Introduce(ip, urlOf(reached(l.Addr(), ip), f.Admin.TLS))
		o.Servers, o.SharedRuns = tokens, f.History.Address != "" // one database has the rows of all
	}
	var following sync.WaitGroup
	following.Go(func() { tokens.Run(within) })
	o.Authenticate = func(_ context.Context, token string) (operator.Caller, error) { return tokens.Check(token) }
	o.Sessions = tokens
	end := serveOn(ctx, l, admin.NewHandler(o), log)
	log.Info("callers with a token reach this server", "address", l.Addr().String(), "tls", f.Admin.TLS != config.AdminTLS{})
	following.Go(func() {
		before := missing(filepath.Join(f.Server.DataDir, firstToken)) // so a token that is there now is new
		keepFirstToken(within, o.Operate, f.Server.DataDir, log)
		reload.greet(urlOf(l.Addr(), f.Admin.TLS), before)
	})
	return func() {
		end()
		cancel()
		following.Wait()
	}
}

// reached returns the address at which other machines reach a listener. If it listens at all addresses
// of the machine, such as 0.0.0.0, that is ip, the address of its server.
func reached(a net.Addr, ip string) net.Addr {
	at, ok := a.(*net.TCPAddr)
	if !ok || !at.IP.IsUnspecified() {
		return a
	}
	return &net.TCPAddr{IP: net.ParseIP(ip), Port: at.Port}
}

// urlOf returns the address of a listener as a URL, for TLS if that is configured.
func urlOf(a net.Addr, secured config.AdminTLS) string {
	if secured != (config.AdminTLS{}) {
		return "https://" + a.String()
	}
	return "http://" + a.String()
}

// answers returns the options for answering requests, common to all listeners. rows is the history.
func answers(reload *reloader, shared *operator.SharedSession, rows *sqltrace.Store) admin.Options {
	f := reload.file()
	push := reload.push
	push.Given = f.Host.Allow.Gives // which grants a module may get here; other limits need a restart
	return admin.Options{
		Push: &push,
		Log:  reload.log, Runs: runsOf(rows), Logs: &operator.RunLogs{Live: reload.logs, History: runIn(rows.Reader)}, Reload: reload.ask, Events: reload.events, Metrics: reload.metrics.Handler(), Alive: reload.metrics.Alive, Checks: func() []admin.Check {
			var all []admin.Check
			for _, c := range reload.metrics.Checks() {
				all = append(all, admin.Check(c))
			}
			if why := reload.taken.Load(); why != nil {
				all = append(all, admin.Check{Name: "address", Fault: *why})
			}
			if why := reload.drained.Load(); why != nil {
				all = append(all, admin.Check{Name: "drain", Fault: *why})
			}
			return all
		},
		Define: defineIn(f.Registry), RetryModule: func(prefix string, dry bool) (string, error) {
			return operator.RetryModule(f.Server.DataDir, prefix, dry)
		},
		Check: func(ctx context.Context, want admin.CheckWanted, inForce admin.InForce, others admin.RowsElsewhere) ([]admin.Checked, error) {
			return checkJobs(ctx, histories{[]*sqltrace.Reader{rows.Reader}, inForce, others}, reload.file(), want, checkedAtMost)
		},
		Purge:  func(ctx context.Context, p admin.Purge) (int64, error) { return purgeRows(ctx, rows, reload.file(), p) },
		Doctor: func() (host.Options, error) { return visitorOptions(reload.file(), reload.term.env) },
		Receive: func(r io.Reader) (*host.ReceivedModule, error) {
			return host.ReceiveModule(f.Server.DataDir, r, f.Host.ModuleKeys)
		},
		Admit: func(digest string, s host.Signing) error {
			return host.AdmitModule(f.Server.DataDir, digest, s)
		},
		ModuleKeys: f.Host.ModuleKeys, // other keys need a restart
		Held:       func() ([]host.HeldModule, error) { return host.HeldModules(f.Server.DataDir) },
		Prune:      &operator.Prune{Remove: pruneIn(f.Server.DataDir)},
		Operate: func(ctx context.Context) (*operator.Operator, error) {
			op, err := shared.Operator(ctx)
			if err == nil {
				op.Compare(reload.file().Jobs)    // so reports say why this server does not run a job
				op.Record(rows)                   // for missed instants of a removed job
				op.Recall(historyIn(rows.Reader)) // for verbs that read the history
			}
			return op, err
		},
	}
}

// serveOn answers on a listener until stop is called, also while the server drains.
func serveOn(ctx context.Context, l net.Listener, h *admin.Handler, log *slog.Logger) (stop func()) {
	within, end := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := admin.Serve(within, l, h); err != nil {
			log.Error("operators cannot reach this server any more, its jobs run", "at", l.Addr().String(), "error", err)
		}
	})
	return func() {
		end()
		serving.Wait()
	}
}

// firstToken is the file in the data directory with the token of a new cluster.
const firstToken = "first-token"

// firstTokenPause is the time between two attempts to create the first token.
const firstTokenPause = 10 * time.Second

// keepFirstToken creates a token in a cluster that has never had one, and stores it in a file
// that only the server's user can read, since printed text ends up in logs. It tries until a
// token exists.
func keepFirstToken(ctx context.Context, operate func(context.Context) (*operator.Operator, error), dataDir string, log *slog.Logger) {
	again := time.NewTicker(firstTokenPause)
	defer again.Stop()
	name := filepath.Join(dataDir, firstToken)
	for warned := ""; ; {
		// Without created and an error, the cluster has a token already.
		created, err := createFirstToken(ctx, operate, name)
		if created { // whether or not closing the session failed
			log.Info("this cluster had no token; the first one permits everything", "file", name)
		}
		if created || err == nil || ctx.Err() != nil {
			return
		}
		if text := err.Error(); text != warned { // a lasting fault is logged once
			warned = text
			log.Warn("the first token of this cluster could not be created or stored; trying again", "error", err)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// createFirstToken makes one attempt to create the first token of a cluster and to store it in the file
// name. created is false if the cluster has a token already.
func createFirstToken(ctx context.Context, operate func(context.Context) (*operator.Operator, error), name string) (created bool, err error) {
	op, err := operate(ctx)
	if err != nil {
		return false, err
	}
	written := false
	created, err = op.FirstToken(ctx, func(secret string) error {
		written = true
		return writeSecret(name, secret)
	})
	if written && !created && err == nil {
		err = os.Remove(name) // another server has the token, and this one is not valid
	}
	return created, errors.Join(err, op.Close())
}

// writeSecret writes a file that only this user can read, replacing an earlier one.
func writeSecret(name, text string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	return errors.Join(err, f.Close())
}

// pageBytes limits the texts of the rows in one answer: many requests are answered at once, and a row may
// have 80 KiB of texts. A server takes no larger answer of another one. So a server of the release before refuses
// a page that ends here; it would otherwise miss rows, as it knows no page with fewer rows than it wants.
const pageBytes = 8 << 20

// runsOf returns a function that reads pages of a history for operators. A request for one run always
// gets its logs, and all attempts.
func runsOf(rows *sqltrace.Store) admin.Runs {
	return func(ctx context.Context, w admin.RunsWanted) ([]trace.Row, string, error) {
		f := sqltrace.Filter{Job: w.Job, Item: w.Item, Run: w.Run, State: w.State, Cause: w.Cause, Since: w.Since, Until: w.Until, Limit: w.Limit, Bytes: pageBytes, Cursor: w.Cursor, Logs: w.Logs}
		if w.Run != "" {
			f.Bytes, f.Logs = 0, true
		}
		page, err := rows.Query(ctx, f)
		if errors.Is(err, sqltrace.ErrCursor) {
			err = &host.Error{Code: host.Invalid, Msg: "go on where a page ended", Err: err} // the caller wrote the cursor
		}
		return page.Rows, page.Next, err
	}
}
