package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
)

func jobDump(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "dump JOB", Short: "Print the nodes of a job in a form that can be shared", Args: cobra.ExactArgs(1),
		Long: "Each line is one node: its path, \" | \" and its value. Addresses are replaced by ip1, ip2 and so\n" +
			"on; values of config, args and allow.env, commands and paths of files by ***. Parameters are\n" +
			"shown. The state of guests is left out. The monitor_port of a job prints the same.",
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if !o.term.json() {
					return withNearest(ctx, op, args[0], op.Dump(ctx, args[0], o.term.out))
				}
				var text strings.Builder
				if err := op.Dump(ctx, args[0], &text); err != nil {
					return withNearest(ctx, op, args[0], err)
				}
				return o.term.printJSON(dumped(args[0], text.String()))
			})
		},
	}
}

type dumpedNode struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

type dumpDocument struct {
	Version int          `json:"version"`
	Job     string       `json:"job"`
	Nodes   []dumpedNode `json:"nodes"`
	More    bool         `json:"more"` // the dump was cut
}

// dumped returns the JSON of the text of a dump.
func dumped(name, text string) dumpDocument {
	d := dumpDocument{Version: 1, Job: name, Nodes: []dumpedNode{}}
	for line := range strings.Lines(text) {
		path, value, isNode := strings.Cut(strings.TrimSuffix(line, "\n"), " | ")
		if d.More = !isNode; isNode {
			d.Nodes = append(d.Nodes, dumpedNode{path, value})
		}
	}
	return d
}
