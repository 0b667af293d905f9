package main

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/operator"
)

// pushPatience is the default time limit of a push.
const pushPatience = 5 * time.Minute

func modulePush(o *operatorVerb) *cobra.Command {
	var p operator.Push
	var name, version, to string
	c := &cobra.Command{
		Use: "push MODULE.wasm", Short: "Bring a module to the servers, with a report on it and a test run", Args: oneModule,
		Long: "Push examines a module: its kinds, exports, imports, the grants that these may need and whether\n" +
			"they are given, memory, compile time, and a trial with a made-up context and no grants. A module\n" +
			"that cannot run, or not as the job of --job, is not saved. Otherwise the server that is asked and\n" +
			"the servers that accept modules receive it; the answer counts them. To run it, see module set.\n\n" +
			"With --name and --version the module is called NAME@VERSION from then on. No other module can get\n" +
			"that name until module rm removes it. A server keeps a module with a name even if no job uses it.\n\n" +
			"Instead of a file the module can be an OCI artifact such as oci://registry.example/report:1.4.0,\n" +
			"with @sha256:… to require a digest, also in module set and inspect. The credentials are those of\n" +
			"docker login in config.json in DOCKER_CONFIG; for the registry in OCI_REGISTRY they are OCI_USER\n" +
			"and OCI_PASSWORD. OCI_CA names a file with certificates to trust. A server examines the module in\n" +
			"a subprocess. On ZooKeeper without --address it is examined here, without servers' limits.",
		Example: "  wasmjobd module push report.wasm --dry-run\n  wasmjobd module push report.wasm --job report --address https://host:8680\n  wasmjobd module push report.wasm --name report --version 1.4.0",
	}
	c.Flags().StringVar(&p.Job, "job", "", "`job` that should run it")
	c.Flags().StringVar(&name, "name", "", "`name` for it, with --version")
	c.Flags().StringVar(&version, "version", "", "`version` under that name, such as 1.4.0")
	c.Flags().StringVar(&to, "to", "", "push it to an OCI `artifact` such as oci://registry.example/report:1.4.0 instead of servers")
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "report without saving anything")
	o.needsServer = true
	c.RunE = func(c *cobra.Command, args []string) error {
		if to != "" {
			return pushArtifact(c, o.term, args[0], to)
		}
		wasm, sign, err := readSigned(c.Context(), o.term, args[0])
		if err != nil {
			return err
		}
		p.Signature = sign
		if c.Flags().Changed("name") != c.Flags().Changed("version") {
			return usage("write --name together with --version")
		}
		if c.Flags().Changed("name") {
			p.Name = name + "@" + version
		}
		if !c.Flags().Changed("timeout") {
			o.timeout = pushPatience
		}
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			if _, direct := op.(*operator.Operator); direct { // on ZooKeeper without --address: no server does the following
				if p.Token, err = f.PeerToken(o.term.env); err != nil {
					return exitf(exitInvalid, "secrets are not there:\n%w", err)
				}
				p.Keys = f.Host.ModuleKeys
				p.Examine = func(ctx context.Context, _ io.Reader) (guest.Examination, error) { return guest.Examine(ctx, wasm) }
			}
			report, err := op.PushModule(ctx, bytes.NewReader(wasm), p)
			if err != nil {
				return withNearest(ctx, op, p.Job, err)
			}
			return o.printPush(args[0], report)
		})
	}
	return c
}

// printPush shows what a push has found of a module, and which servers have it. It returns an error if
// this host would not run the module.
func (o *operatorVerb) printPush(path string, r operator.PushReport) error {
	if o.term.json() {
		if err := o.term.printJSON(r); err != nil {
			return err
		}
		return refusalOf(path, r.Checked)
	}
	if r.Digest != "" { // the module could be decoded
		printReport(o.term, r.Report)
		var asked []string
		for _, g := range r.Asked {
			state := "not given"
			switch {
			case g.Unknown:
				state = "not known here"
			case g.Given:
				state = "given"
			}
			asked = append(asked, g.Key+" ("+state+")")
		}
		o.term.printf("grants     %s\n", cmp.Or(strings.Join(asked, ", "), "none"))
		printSignature(o.term, r.Signature)
	}
	if t := r.Trial; t != nil {
		o.term.printf("compiled   in %d ms\ntest run   as %s: %s in %d ms, fuel %d, memory %s\n", r.CompileMS, t.Kind, t.Verdict, t.TookMS, t.Fuel, sizeText(t.Memory))
		for _, line := range append([]string{t.Result, t.Error}, t.Log...) {
			if line != "" {
				o.term.printf("  %s\n", plainUpTo(sentenceLimit, line))
			}
		}
	}
	if r.Unfit != "" {
		o.term.printf("unfit      %s\n", plainUpTo(sentenceLimit, r.Unfit))
	}
	for _, s := range r.Other {
		if s.Fault != "" {
			o.term.note("wasmjobd: server %s does not have the module: %s", plain(s.Address), plainUpTo(sentenceLimit, s.Fault))
		}
	}
	for _, why := range r.Unread {
		o.term.note("wasmjobd: the other servers were not looked for: %s", plainUpTo(sentenceLimit, why))
	}
	if r.Saved {
		o.term.printf("held by    %d of the servers\n", r.Held)
	}
	if r.Saved && r.Name != "" {
		o.term.printf("named      %s\n", plain(r.Name))
	}
	return refusalOf(path, r.Checked)
}
