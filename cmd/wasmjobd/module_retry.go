package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// moduleRetry reverses a decision of a single server, so it works on the server's own files,
// even while the server runs.
func moduleRetry(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "retry DIGEST", Short: "Make a server try again to compile a module that crashed it", Args: cobra.ExactArgs(1),
		Long: "If a server dies while it compiles a module, it later has a separate process compile the module\n" +
			"once more. If that process dies, too, the server refuses the module until the program, its engine\n" +
			"or the memory for compiling changes. Retry makes the server try again: when the job fires next, or\n" +
			"when the server starts. It works on the data_dir of the configuration, or on the server at\n" +
			"--address; other servers decide for themselves. The beginning of the digest is enough.",
		Example: "  wasmjobd module retry 3f2a91 --config jobs.toml",
		RunE: func(c *cobra.Command, args []string) error {
			at, err := o.elsewhere.server(o.term.env, *o.files)
			if err != nil {
				return err
			}
			if at.Address != "" {
				return o.bounded(c.Context(), func(ctx context.Context) error {
					to, err := dial(at)
					if err != nil {
						return err
					}
					digest, err := to.RetryModule(ctx, args[0])
					return errors.Join(o.printRetried(digest, err), to.Close())
				})
			}
			f, err := loadConfig(o.term, *o.files)
			if err != nil {
				return err
			}
			return coded(o.printRetried(operator.RetryModule(f.Server.DataDir, args[0], false)))
		},
	}
}

// printRetried reports the result of RetryModule.
func (o *operatorVerb) printRetried(digest string, err error) error {
	if err != nil {
		return err
	}
	return o.term.answer(struct {
		Version int    `json:"version"`
		Digest  string `json:"digest"`
	}{1, digest}, "%s: the server tries again when a job needs it next\n", digest)
}

// refusedOf returns the modules of a job that the server with the configuration's data
// directory refuses because compiling them ended processes.
func refusedOf(f *config.File, r *operator.ModulesReport) ([]refusedModule, error) {
	found := []refusedModule{}
	if f.Server.DataDir == "" { // the configuration is another server's
		return found, nil
	}
	refused, err := host.RefusedModules(f.Server.DataDir)
	if err != nil {
		return nil, err
	}
	for _, m := range []*operator.ModuleRef{r.Now, r.Next} {
		if m != nil && refused[m.Digest] != "" {
			found = append(found, refusedModule{m.Digest, refused[m.Digest]})
		}
	}
	return found, nil
}
