package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// moduleRetry lifts what a server has decided for itself, so it works on the
// server's own files, also while that runs.
func moduleRetry(o *operatorVerb) *cobra.Command {
	o.local = true
	return &cobra.Command{
		Use: "retry DIGEST", Short: "Have this server compile a module again that ended it", Args: cobra.ExactArgs(1),
		Long: "A server that died while it compiled a module has a process of its own compile it once more. If\n" +
			"that dies, too, the server refuses the module until the server, its engine or its memory is\n" +
			"another. Retry has it try now: when the job fires next, or at its start. It works on the data_dir of\n" +
			"the configuration; other servers decide for themselves. The beginning of the digest will do.",
		Example: "  wasmjobd module retry 3f2a91 --config jobs.toml",
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := loadConfig(o.term, *o.files)
			if err != nil {
				return err
			}
			return coded(o.retryModule(f.Server.DataDir, strings.TrimPrefix(args[0], "sha256:")))
		},
	}
}

func (o *operatorVerb) retryModule(dataDir, prefix string) error {
	refused, err := host.RefusedModules(dataDir)
	if err != nil {
		return err
	}
	digests := slices.DeleteFunc(slices.Sorted(maps.Keys(refused)), func(d string) bool { return !strings.HasPrefix(d, prefix) })
	switch len(digests) {
	case 0:
		return exitf(exitNotFound, "retry a module: the server with data_dir %s refuses none that begins with %q", dataDir, prefix)
	case 1:
	default:
		return exitf(exitConflict, "retry a module: %d refused modules begin with %q; write more of the digest", len(digests), prefix)
	}
	if err := host.RetryModule(dataDir, digests[0]); err != nil {
		return err
	}
	if o.term.json() {
		return o.term.printJSON(struct {
			Version int    `json:"version"`
			Digest  string `json:"digest"`
		}{1, digests[0]})
	}
	o.term.printf("%s: is tried when a job needs it next\n", digests[0])
	return nil
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
