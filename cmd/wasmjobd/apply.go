package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/oci"
)

func applyCommand(term *terminal) *cobra.Command {
	o := &operatorVerb{term: term}
	c := &cobra.Command{
		Use: "apply FILE", Short: "Put the jobs of a file into the registry, like a server that reads it", Args: cobra.ExactArgs(1),
		Long: "Apply merges each job of the file into the registry like a server with that file. A job that is\n" +
			"not in the registry is created, as by job create. For other jobs, the settings that plan shows as\n" +
			"taken or older are written. Changes made in the registry since the file was last applied stay, unless the\n" +
			"job has overwrite = true. So does the job's module; module set changes it. Jobs that are only in\n" +
			"the registry stay as they are. If the file has no kind and layout in [registry], those of the\n" +
			"registry that is asked count, and a job keeps its layout.\n\n" +
			"Apply reads only the jobs of the file, and the digests of their modules for new jobs. Bring these\n" +
			"modules to the servers first, with module push. This includes artifacts, oci://…, which apply\n" +
			"pulls only to compute their digests. The [host.allow] of each server limits what the jobs may do.\n" +
			"Neither this environment nor other files are read: a variable has only its default, and include\n" +
			"is refused. Relative directories of grants start at the folder of FILE, which is - for standard\n" +
			"input, and then at the working directory.\n\n" +
			"Each job is one write: if something changes meanwhile, apply again. If any setting is drift or\n" +
			"disputed, apply exits with 5, as plan does; plan --config FILE shows the same without writing.",
		Example: "  wasmjobd apply jobs.toml\n  wasmjobd apply jobs.toml --context prod -o json",
	}
	o.files = configFlag(c)
	c.Flags().DurationVar(&o.timeout, "timeout", defaultPatience, "how long to wait for the registry or the server")
	o.elsewhere.add(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		texts, err := textsIn(c.Context(), term, args[0])
		if err != nil {
			return err
		}
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			done := planDocument{1, []operator.Planned{}}
			var failed error
			for _, text := range texts {
				p, err := op.ApplyJob(ctx, text, defineIn(f.Registry))
				if err != nil {
					failed = errors.Join(failed, err)
					continue
				}
				if p.Warning != "" {
					term.note("wasmjobd: %s: %s", plain(p.Job), p.Warning)
				}
				done.Jobs = append(done.Jobs, p)
			}
			if !term.json() {
				printPlan(term, done.Jobs)
			} else if err := term.printJSON(done); err != nil {
				return err
			}
			return cmp.Or(failed, drifted(done.Jobs))
		})
	}
	return c
}

// unreadable is the error of a file whose text goes to the registry or to a server. Unlike serve, whoever
// reads it there has neither the environment nor the other files of this command.
func unreadable(what string, err error) error {
	why := ""
	if all, ok := errors.AsType[config.Problems](err); ok && slices.ContainsFunc(all, func(p config.Problem) bool {
		return p.Why.Code == reason.VariableUnset || p.Why.Code == reason.IncludeImpossible
	}) {
		why = "; neither this environment nor other files are read"
	}
	return exitf(exitInvalid, "%s cannot be read%s:\n%w", what, why, err)
}

// readText reads a configuration from a file, or from standard input if the path is "-".
func readText(term *terminal, path string) ([]byte, error) {
	if path != "-" {
		return os.ReadFile(path)
	}
	return io.ReadAll(io.LimitReader(term.in, maxModuleFile))
}

// textsIn returns the jobs of a file, each with its excerpt of the file and the digest of its module.
// If a module's file is missing or its artifact cannot be pulled, its jobs have no digest: only a new
// job needs it, and is refused without it.
func textsIn(ctx context.Context, term *terminal, path string) ([]operator.JobText, error) {
	content, err := readText(term, path)
	if err != nil {
		return nil, exitf(exitInvalid, "read the jobs: %w", err)
	}
	f, err := config.Parse(path, content, config.Options{Elsewhere: true}) // [host.allow] limits the jobs where they run
	if err != nil {
		return nil, unreadable("the jobs", err)
	}
	if len(f.Jobs) == 0 {
		return nil, exitf(exitInvalid, "%s has no job", path)
	}
	of, err := config.Excerpts(content) // the whole text could be too large for a request
	if err != nil {
		return nil, err
	}
	modules := map[string]string{}
	for _, m := range f.Modules {
		modules[m.Name] = cmp.Or(m.SHA256, m.Artifact, m.Path)
	}
	var all []operator.JobText
	digests := map[string]string{} // by module, so that none is read twice
	for _, j := range f.Jobs {
		t := operator.JobText{Name: j.Name}
		if t.TOML, err = of(j); err != nil {
			return nil, err
		}
		module := modules[j.Module]
		if known, ok := digests[module]; ok {
			t.Digest = known
		} else if err := digestOf(ctx, term, &t, module); err != nil && oci.Is(module) {
			term.note("wasmjobd: a new job with the module %s cannot be created: %v", plain(j.Module), err)
		} else if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		digests[module] = t.Digest
		all = append(all, t)
	}
	return all, nil
}
