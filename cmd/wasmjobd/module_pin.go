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

// namesVersion reports whether an argument is NAME@VERSION. A file of that name has precedence.
func namesVersion(arg string) bool {
	_, err := os.Stat(arg)
	return operator.IsVersion(arg) && !oci.Is(arg) && errors.Is(err, fs.ErrNotExist)
}

func modulePin(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "pin JOB", Short: "Keep the module of a job, whatever files say", Args: cobra.ExactArgs(1),
		Long: "The job keeps its module until unpin: no server's file replaces it, not even with overwrite, and\n" +
			"set and rollback are refused. Servers of a release without pins do not run the job meanwhile.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.pin(c.Context(), args[0], "pinned", cluster.PinModule)
		},
	}
}

func moduleUnpin(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "unpin JOB", Short: "Allow the module of a job to be replaced again", Args: cobra.ExactArgs(1),
		Long: "The files of servers apply again from their next start, or when they change.",
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

// pin pins or unpins the module of a job by do, and prints its state.
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
		Use: "rm NAME@VERSION", Short: "Remove the name of a module", Args: cobra.ExactArgs(1),
		Long: "Jobs that run the module keep it. When nothing uses it any more, prune removes it. The name is\n" +
			"then free for another module, and the audit has both.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if err := op.UnnameModule(ctx, args[0]); err != nil {
					return err
				}
				return o.term.answer(struct {
					Version int    `json:"version"`
					Name    string `json:"name"`
				}{1, args[0]}, "%s: name removed\n", plain(args[0]))
			})
		},
	}
}
