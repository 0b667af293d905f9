package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/nearest"
)

// operatorVerb is the common part of the verbs for operators: they use the registry of the
// configuration or, if that is embedded in a running server, the server.
type operatorVerb struct {
	term    *terminal
	files   *[]string
	timeout time.Duration
	// elsewhere has the flags that select another server.
	elsewhere addressFlags
	// readOnly: the verb writes nothing, and the session prevents it.
	readOnly bool
	// needsServer: the verb has no effect on a server that is not running.
	needsServer bool
	// writesHistory: without a server the verb writes into the history.
	writesHistory bool
	// unbounded: the verb runs as long as there is something to show.
	unbounded bool
	// readsHistory: without a server the verb reads this server's history.
	readsHistory bool
}

const defaultPatience = 10 * time.Second

// operatorNoun adds verbs to a noun of the command line, such as "list" to "job", and to each verb
// the flags that all of them have.
func operatorNoun(term *terminal, c *cobra.Command, verbs ...func(*operatorVerb) *cobra.Command) *cobra.Command {
	for _, verb := range verbs {
		o := &operatorVerb{term: term}
		child := verb(o)
		o.files = configFlag(child)
		child.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry or the server")
		o.elsewhere.add(child)
		c.AddCommand(child)
	}
	return c
}

// look runs a verb that reads the registry here, by the rules of this configuration. If the registry is
// inside a running server, it reads the nodes through the server.
func (o *operatorVerb) look(ctx context.Context, verb func(context.Context, *config.File, *operator.Operator) error) error {
	return o.within(ctx, func(ctx context.Context, f *config.File) error {
		return o.lookAt(ctx, f, func(op *operator.Operator) error { return verb(ctx, f, op) })
	})
}

// lookAt is look with a configuration that was already read. do gets the same kind of Operator in
// each case: on ZooKeeper, on a running server's registry, or on the registry's files.
func (o *operatorVerb) lookAt(ctx context.Context, f *config.File, do func(*operator.Operator) error) error {
	if f.Registry.Kind == config.ZooKeeper {
		return o.onRegistry(ctx, f, do)
	}
	return o.reach(ctx, f, func(c *admin.Client) error {
		op, err := c.Operate(ctx, f.Registry.Namespace)
		if err != nil {
			return err
		}
		return errors.Join(do(op), op.Close())
	}, do)
}

// within reads the configuration of --config for a verb, and runs the verb until a signal or the time-out
// ends it.
func (o *operatorVerb) within(ctx context.Context, verb func(context.Context, *config.File) error) error {
	// The general error for a missing file would not name the flags that select another one.
	if _, absent := os.Stat(defaultConfig); slices.Equal(*o.files, []string{defaultConfig}) && errors.Is(absent, fs.ErrNotExist) {
		if !o.elsewhere.added {
			return exitf(exitInvalid, "there is no %s here; name a configuration with --config", defaultConfig)
		}
		return exitf(exitInvalid, "there is no %s here; name a configuration with --config, or a server with --address", defaultConfig)
	}
	f, err := loadConfig(o.term, *o.files)
	if err != nil {
		return err
	}
	return o.bounded(ctx, func(ctx context.Context) error { return verb(ctx, f) })
}

// bounded runs a verb until a signal or the time-out ends it.
func (o *operatorVerb) bounded(ctx context.Context, verb func(context.Context) error) error {
	if o.timeout <= 0 {
		return usage("--timeout: write a positive duration")
	}
	return untilSignal(ctx, func(ctx context.Context) error {
		if o.unbounded { // only a signal ends it, as with --follow
			return coded(verb(ctx))
		}
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		return coded(verb(ctx))
	})
}

// exitCodes are those of errors of the host; others are exitFailure.
var exitCodes = map[host.Code]int{ // read only
	host.Invalid: exitInvalid, host.NotFound: exitNotFound, host.Refused: exitConflict, host.Denied: exitForbidden,
	host.Unavailable: exitUnreachable, host.Unknown: exitUnreachable,
}

// coded adds the exit code to an error of the host. It returns other errors, and those with an exit
// code, as they are.
func coded(err error) error {
	var e *host.Error
	var known *exitError
	if err == nil || errors.As(err, &known) || !errors.As(err, &e) {
		return err
	}
	return &exitError{code: cmp.Or(exitCodes[e.Code], exitFailure), err: err}
}

// each calls do for several jobs. asked says what has been asked for a job if do succeeds, such as
// "paused". each goes on after a failure. It returns the first error, which the program prints and
// which decides the exit code, and prints the others.
func (o *operatorVerb) each(ctx context.Context, names []string, asked string, do func(context.Context, cluster, string) error) error {
	return o.ask(ctx, func(ctx context.Context, _ *config.File, op cluster) error {
		result := askedOf{Version: 1, Jobs: []string{}, Asked: asked}
		var first error
		for _, name := range names {
			err := do(ctx, op, name)
			said := asked
			if as, ok := errors.AsType[asBefore](err); ok {
				said, err = string(as), nil
				result.AsBefore = append(result.AsBefore, name)
			}
			if err == nil {
				result.Jobs = append(result.Jobs, name)
			}
			switch {
			case err == nil && o.term.json(): // the result at the end has it
			case err == nil:
				o.term.printf("%s: %s\n", plain(name), said)
			case first == nil:
				first = withNearest(ctx, op, name, err)
			default:
				o.term.note("wasmjobd: %v", err)
			}
		}
		if o.term.json() {
			return errors.Join(first, o.term.printJSON(result))
		}
		return first
	})
}

// asBefore says that a job needed no change. It is no failure.
type asBefore string

// Error implements error.
func (a asBefore) Error() string { return string(a) }

// withNearest adds the most similar name to the error for a job that does not exist.
func withNearest(ctx context.Context, op interface {
	Names(context.Context) ([]string, error)
}, name string, err error) error {
	var e *host.Error
	if !errors.As(err, &e) || e.Code != host.NotFound {
		return err
	}
	names, listErr := op.Names(ctx)
	// The name itself is among them if the job was created meanwhile.
	if near := nearest.To(name, names); listErr == nil && near != "" && near != name {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return err
}
