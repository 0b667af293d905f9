package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// listedModules is the JSON of module list. Scripts read it: add fields, but do not change any.
type listedModules struct {
	Version int                      `json:"version"`
	Modules []operator.ModuleVersion `json:"modules"`
	Unread  []string                 `json:"unreadable_jobs"`
}

// usesShown is the number of uses of a module that fit into a line.
const usesShown = 3

func moduleList(o *operatorVerb) *cobra.Command {
	var unused bool
	c := &cobra.Command{
		Use: "list", Short: "List modules with the jobs that use them", Args: cobra.NoArgs,
		Long: "Lists the modules that jobs of the cluster run, will run or ran before, the strategy modules that\n" +
			"assign their items, modules with names, and the modules on the disk of the server that is asked.\n" +
			"On ZooKeeper without --address that disk is the data_dir of the configuration. HERE is how much\n" +
			"space a module takes there, \"-\" if it is only elsewhere.",
		Example: "  wasmjobd module list --unused",
	}
	c.Flags().BoolVar(&unused, "unused", false, "only unused modules")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			list, err := op.Modules(ctx, heldIn(f.Server.DataDir))
			if err != nil {
				return err
			}
			shown := listedModules{Version: 1, Modules: []operator.ModuleVersion{}, Unread: append([]string{}, list.Unread...)}
			for _, m := range list.Modules {
				if !unused || m.Count == 0 {
					shown.Modules = append(shown.Modules, m)
				}
			}
			if o.term.json() {
				return o.term.printJSON(shown)
			}
			return printModuleList(o.term, shown)
		})
	}
	return c
}

// heldIn returns a function that lists the modules in a data directory. It is nil if there is none, as with
// --address: then the server that is asked lists its own.
func heldIn(dir string) operator.Held {
	if dir == "" {
		return nil
	}
	return func() ([]host.HeldModule, error) { return host.HeldModules(dir) }
}

func printModuleList(term *terminal, list listedModules) error {
	w := table(term, "DIGEST\tNAME\tHERE\tSINCE\tUSED BY")
	for i := range list.Modules {
		m := &list.Modules[i]
		size, since := "-", "-"
		if m.Size > 0 {
			size, since = sizeText(m.Size), m.Since.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", m.Digest, orDash(plain(m.Name)), size, since, usesText(m))
	}
	if err := flush(w); err != nil {
		return err
	}
	for _, name := range list.Unread {
		term.note("wasmjobd: the modules of job %s cannot be read; see job show", plain(name))
	}
	return nil
}

// usesText says in one line what uses a module: its names and jobs, as far as they fit.
func usesText(m *operator.ModuleVersion) string {
	if m.Count == 0 {
		return "nothing"
	}
	var texts []string
	for _, name := range m.Names[:min(len(m.Names), usesShown)] {
		texts = append(texts, plain(name))
	}
	for _, u := range m.Uses[:min(len(m.Uses), usesShown)] {
		texts = append(texts, plain(u.Job)+" ("+u.As+")")
	}
	if more := m.Count - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}
