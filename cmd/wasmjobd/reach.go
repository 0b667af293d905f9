package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// cluster is what verbs talk to: the registry of a cluster, or the one server in
// which the registry is embedded.
//
//nolint:interfacebloat // the requests of all verbs
type cluster interface {
	Dump(context.Context, string, io.Writer) error
	Names(context.Context) ([]string, error)
	Jobs(context.Context) ([]operator.JobReport, error)
	Job(context.Context, string) (*operator.JobReport, error)
	Explain(context.Context, operator.Question) (*operator.Explanation, error)
	// Doctor uses the given options, or those of the server that is asked.
	Doctor(ctx context.Context, as host.Options, names ...string) (*operator.Diagnosis, error)
	operator.LogReader

	// CreateJob makes the server that is asked read the text, or else calls the function.
	CreateJob(context.Context, operator.JobText, func(operator.JobText) (job.Config, error)) (warning string, err error)
	ApplyJob(context.Context, operator.JobText, func(operator.JobText) (job.Config, error)) (operator.Planned, error)
	SetJob(ctx context.Context, name string, disabled bool) error
	SetItem(ctx context.Context, name string, item int, disabled bool) error
	SetServer(ctx context.Context, name, ip string, disabled bool) error
	SetServers(ctx context.Context, ip string, disabled bool) (set, unread []string, err error)
	Servers(context.Context) ([]operator.ServerReport, error)
	Drain(ctx context.Context, ip, why string) (set, unread []string, err error)
	Undrain(ctx context.Context, ip string) (set, unread []string, err error)
	Trigger(context.Context, string) error
	TriggerOnce(ctx context.Context, name, key string) (operator.Triggered, error)
	TriggerItems(ctx context.Context, name string, want operator.ItemsWanted) (operator.Asked, error)
	Retry(ctx context.Context, name, run string, items []int) (operator.Asked, error)
	Backfill(ctx context.Context, name string, r operator.BackfillRange) (operator.Backfill, error)
	CancelBackfill(ctx context.Context, name string, items []int) error
	Cancel(ctx context.Context, name string, f operator.CancelFilter) ([]operator.OpenRun, error)
	Pause(context.Context, string, operator.PauseTerms) error
	Resume(context.Context, string) error
	Reshard(context.Context, string) error
	Shutdown(context.Context, string, operator.Which) ([]job.InstanceID, error)
	Remove(ctx context.Context, name string, force bool) error
	Migrate(context.Context, string, operator.Move) (*operator.Migration, error)

	Modules(context.Context, operator.Held) (operator.ModuleList, error)
	PruneModules(context.Context, operator.Prune) (operator.PruneReport, error)
	PushModule(ctx context.Context, wasm operator.Wasm, p operator.Push) (operator.PushReport, error)
	NextModule(context.Context, string, operator.ModuleRef) error
	Resolve(ctx context.Context, text string) (digest string, err error)
	UnnameModule(ctx context.Context, text string) error
	PinModule(context.Context, string) error
	UnpinModule(context.Context, string) error
	RollBack(ctx context.Context, name, to string) (back operator.ModuleRef, runs bool, err error)
	WithdrawModule(ctx context.Context, name, digest string) error
	AwaitModule(ctx context.Context, name, digest string, report func(operator.ModuleWait)) error

	CreateToken(ctx context.Context, name string, role operator.Role, life time.Duration) (secret string, t operator.Token, err error)
	Tokens(context.Context) ([]operator.Token, error)
	RevokeToken(ctx context.Context, name string) error
	Audit(context.Context, operator.AuditFilter) ([]operator.AuditRow, error)

	Alerts(context.Context) ([]operator.Alert, []operator.Silence, error)
	Silence(ctx context.Context, name string, life time.Duration, why string) (operator.Silence, error)
	Unsilence(context.Context, string) error

	Maintenance(context.Context) (*operator.Maintenance, error)
	StartMaintenance(context.Context, operator.MaintenanceTerms) (*operator.Maintenance, error)
	EndMaintenance(context.Context) (*operator.Maintenance, error)
}

var (
	_ cluster = (*operator.Operator)(nil)
	_ cluster = (*admin.Client)(nil)
)

const (
	// settleTime is how long a server may have the registry inside without answering, as it
	// does for a moment when it starts and ends.
	settleTime = 2 * time.Second
	// reachAgain is the time between two attempts to reach it.
	reachAgain = 20 * time.Millisecond
)

// ask runs a verb on the registry, on the server that has it inside, or on the server at the
// given address, which has no configuration here.
func (o *operatorVerb) ask(ctx context.Context, verb func(context.Context, *config.File, cluster) error) error {
	at, err := o.elsewhere.server(o.term.env, *o.files)
	if err != nil {
		return err
	}
	if at.Address != "" {
		return o.bounded(ctx, func(ctx context.Context) error {
			c, err := dial(at)
			if err != nil {
				return err
			}
			return errors.Join(verb(ctx, new(config.File), c), c.Close())
		})
	}
	return o.within(ctx, func(ctx context.Context, f *config.File) error {
		direct := func(op *operator.Operator) error { return verb(ctx, f, op) }
		if f.Registry.Kind == config.ZooKeeper {
			return o.onRegistry(ctx, f, direct)
		}
		return o.reach(ctx, f, func(c *admin.Client) error { return verb(ctx, f, c) }, direct)
	})
}

// reach calls asked with a client of the server in which the registry is embedded. If none is running,
// it opens the registry's files and calls direct. A server that starts or ends has the files open, but
// no socket, for a moment: reach tries both again until one works.
func (o *operatorVerb) reach(ctx context.Context, f *config.File, asked func(*admin.Client) error, direct func(*operator.Operator) error) error {
	again := time.NewTicker(reachAgain)
	defer again.Stop()
	settled := time.After(settleTime)
	for {
		c, err := admin.Dial(ctx, f.Server.DataDir)
		switch {
		case err == nil:
			return errors.Join(asked(c), c.Close())
		case !errors.Is(err, admin.ErrNoServer):
			return err
		}
		err = o.onRegistry(ctx, f, direct)
		// The verb may have been refused only because no server is there to do it.
		if e, ok := errors.AsType[*host.Error](err); ok && o.needsServer && e.Code == host.Refused {
			return fmt.Errorf("%w; no server runs on %s: start it with serve", err, f.Server.DataDir)
		}
		if !errors.Is(err, embedded.ErrInUse) {
			return err
		}
		select {
		case <-again.C:
			continue
		case <-settled:
		case <-ctx.Done():
		}
		return exitf(exitConflict, "%w\nthe server that has the registry does not answer operators: see its log, or stop it", err)
	}
}

// onRegistry runs a verb on the registry itself.
func (o *operatorVerb) onRegistry(ctx context.Context, f *config.File, verb func(*operator.Operator) error) error {
	return o.withOperator(ctx, f, func(op *operator.Operator) error {
		op.Compare(f.Jobs)  // so reports say why a server with this configuration does not run a job
		if o.readsHistory { // no server reads the history for it
			op.Recall(ownHistory(o.term, f))
			op.ReadLogs(&operator.RunLogs{History: ownRunHistory(o.term, f)})
		}
		// On ZooKeeper each server has a history of its own, so this one would not be complete.
		if !o.writesHistory || f.Registry.Kind == config.ZooKeeper {
			return verb(op)
		}
		at, err := historyAt(o.term, f)
		if err != nil {
			return err
		}
		return withHistory(ctx, f, at, func(rows *sqltrace.Store) error {
			op.Record(rows)
			return verb(op)
		})
	})
}

// withOperator calls do with an Operator on the registry of a configuration.
func (o *operatorVerb) withOperator(ctx context.Context, f *config.File, do func(*operator.Operator) error) error {
	return o.withRegistry(f, func(r registry.Registry) error {
		op, err := operator.Open(ctx, r, f.Registry.Namespace)
		if err != nil {
			return err
		}
		op.As(operator.Author{Name: localUser(), Way: operator.ByRegistry}) // for the audit
		return errors.Join(do(op), op.Close())
	})
}

// withRegistry calls do with the registry of a configuration: ZooKeeper, or the files of an embedded one,
// which no server may have open.
func (o *operatorVerb) withRegistry(f *config.File, do func(registry.Registry) error) error {
	if f.Registry.Kind == config.ZooKeeper {
		access, err := f.Access(o.term.env)
		if err != nil {
			return exitf(exitInvalid, "secrets are not there:\n%w", err)
		}
		return withRegistry(f, access, o.readOnly, slog.New(slog.DiscardHandler), do)
	}
	dir := registryDir(f.Server.DataDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNotFound, "there is no registry at %s; serve creates it (or is this another server's configuration?)", dir)
	}
	// A loss of power is found by the program that opens the registry next, which may be this one.
	r, err := embedded.Open(dir, embedded.Options{Logger: slog.New(newLineHandler(o.term.err, slog.LevelWarn))})
	if err != nil {
		return &exitError{code: exitConflict, err: err}
	}
	return errors.Join(do(r), r.Close())
}
