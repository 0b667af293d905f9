package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// moduleRetry lifts what a server has decided for itself, so it works on the
// server's own files, also while that runs.
func moduleRetry(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "retry DIGEST", Short: "Have a server compile a module again that ended it", Args: cobra.ExactArgs(1),
		Long: "A server that died while it compiled a module has a process of its own compile it once more. If\n" +
			"that process dies, too, the server refuses the module until the program, its engine or the memory\n" +
			"for compiling is another. Retry has the server try again: when the job fires next, or when the\n" +
			"server starts. It works on the data_dir of the configuration, or at the server of --address; other\n" +
			"servers decide for themselves. The beginning of the digest is enough.",
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

func (o *operatorVerb) printRetried(digest string, err error) error {
	if err != nil {
		return err
	}
	return o.term.answer(struct {
		Version int    `json:"version"`
		Digest  string `json:"digest"`
	}{1, digest}, "%s: is tried when a job needs it next\n", digest)
}

// refusedOf are the modules of a job that the server with the data directory of
// the configuration refuses because compiling them ended processes.
func refusedOf(f *config.File, r *operator.ModulesReport) ([]refusedModule, error) {
	found := []refusedModule{}
	if f.Server.DataDir == "" { // it belongs to a server elsewhere
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
