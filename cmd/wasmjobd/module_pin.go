package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/oci"
)

// namesVersion reports whether an argument is NAME@VERSION and no file.
func namesVersion(arg string) bool {
	_, err := os.Stat(arg)
	return operator.IsVersion(arg) && !oci.Is(arg) && errors.Is(err, fs.ErrNotExist)
}

func modulePin(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "pin JOB", Short: "Keep the module that a job runs, whatever files say", Args: cobra.ExactArgs(1),
		Long: "The job keeps its module until unpin: no file of a server replaces it, also none that says\n" +
			"overwrite, and set and rollback are refused. A release that does not know pins does not run the\n" +
			"job meanwhile.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.pin(c.Context(), args[0], "pinned", cluster.PinModule)
		},
	}
}

func moduleUnpin(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "unpin JOB", Short: "Let the module of a job be replaced again", Args: cobra.ExactArgs(1),
		Long: "What the file of a server says counts again from its next start, or when it changes.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.pin(c.Context(), args[0], "not pinned", cluster.UnpinModule)
		},
	}
}

type pinnedModule struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	State   string `json:"state"` // pinned, or not pinned
}

func (o *operatorVerb) pin(ctx context.Context, name, state string, do func(cluster, context.Context, string) error) error {
	return o.ask(ctx, func(ctx context.Context, _ *config.File, op cluster) error {
		if err := do(op, ctx, name); err != nil {
			return withNearest(ctx, op, name, err)
		}
		return o.term.answer(pinnedModule{1, name, state}, "%s: its module is %s\n", plain(name), state)
	})
}

func moduleRemove(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "rm NAME@VERSION", Short: "Take the name of a module away", Args: cobra.ExactArgs(1),
		Long: "Jobs that run the module keep it. When nothing uses it any more, prune removes it. The name is free\n" +
			"for another module from then on, and the audit has both.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if err := op.UnnameModule(ctx, args[0]); err != nil {
					return err
				}
				return o.term.answer(struct {
					Version int    `json:"version"`
					Name    string `json:"name"`
				}{1, args[0]}, "%s: taken away\n", plain(args[0]))
			})
		},
	}
}
