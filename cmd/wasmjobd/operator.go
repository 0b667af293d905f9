package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// operatorVerb is what the verbs have in common that look after jobs: they talk
// to the registry of the configuration, and to no server.
type operatorVerb struct {
	term    *terminal
	files   *[]string
	timeout time.Duration
	// readOnly: the verb writes nothing, and is not let.
	readOnly bool
}

const defaultPatience = 10 * time.Second

// operatorNoun makes a noun of the command line with its verbs.
func operatorNoun(term *terminal, c *cobra.Command, verbs ...func(*operatorVerb) *cobra.Command) *cobra.Command {
	for _, verb := range verbs {
		o := &operatorVerb{term: term}
		child := verb(o)
		o.files = configFlag(child)
		child.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry")
		c.AddCommand(child)
	}
	return c
}

// do runs a verb on the registry, until a signal or the time-out ends it.
func (o *operatorVerb) do(ctx context.Context, verb func(context.Context, *config.File, *host.Operator) error) error {
	if o.timeout <= 0 {
		return usage("--timeout: write more than nothing")
	}
	f, err := loadConfig(o.term, *o.files)
	if err != nil {
		return err
	}
	return untilSignal(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, o.timeout)
		defer cancel()
		return coded(o.withRegistry(f, func(r registry.Registry) error {
			op, err := host.Operate(ctx, r, f.Registry.Namespace)
			if err != nil {
				return err
			}
			op.Compare(f.Jobs)
			return errors.Join(verb(ctx, f, op), op.Close())
		}))
	})
}

// withRegistry opens the registry of a configuration for somebody who joins
// nothing.
func (o *operatorVerb) withRegistry(f *config.File, do func(registry.Registry) error) error {
	if f.Registry.Kind == config.ZooKeeper {
		access, err := f.Access(o.term.env)
		if err != nil {
			return exitf(exitInvalid, "secrets are not there:\n%w", err)
		}
		return withRegistry(f, access, o.readOnly, slog.New(slog.DiscardHandler), do)
	}
	dir := filepath.Join(f.Server.DataDir, "registry")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return exitf(exitNotFound, "there is no registry at %s; serve makes it (or is this another server's configuration?)", dir)
	}
	r, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		return exitf(exitConflict, "%w\nthe embedded registry is its server's alone: stop that first, or let servers meet at a ZooKeeper ([registry] kind)", err)
	}
	return errors.Join(do(r), r.Close())
}

// coded gives an error of the host its exit code.
func coded(err error) error {
	var e *host.Error
	var known *exitError
	if err == nil || errors.As(err, &known) || !errors.As(err, &e) {
		return err
	}
	code := exitFailure
	switch e.Code {
	case host.Invalid:
		code = exitInvalid
	case host.NotFound:
		code = exitNotFound
	case host.Refused:
		code = exitConflict
	case host.Denied:
		code = exitForbidden
	case host.Unavailable, host.Unknown:
		code = exitUnreachable
	case host.Internal:
	}
	return &exitError{code: code, err: err}
}

// each does the same for several jobs. What fails for one is told, and the
// others get their turn; the first error gives the exit code.
func (o *operatorVerb) each(ctx context.Context, names []string, asked string, do func(context.Context, *host.Operator, string) error) error {
	return o.do(ctx, func(ctx context.Context, _ *config.File, op *host.Operator) error {
		result := askedOf{Version: 1, Jobs: []string{}, Asked: asked}
		var first error
		for _, name := range names {
			err := do(ctx, op, name)
			switch {
			case err == nil:
				result.Jobs = append(result.Jobs, name)
				if !o.term.json() {
					o.term.printf("%s: %s\n", plain(name), asked)
				}
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

// withNearest adds to the error of a job that is not there which one may have
// been meant.
func withNearest(ctx context.Context, op *host.Operator, name string, err error) error {
	var e *host.Error
	if !errors.As(err, &e) || e.Code != host.NotFound {
		return err
	}
	names, listErr := op.Names(ctx)
	if near := config.Nearest(name, names); listErr == nil && near != "" && near != name {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return err
}
