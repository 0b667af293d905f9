package main

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/strategy"
)

// maxSimulated bounds the instances of a simulation.
const maxSimulated = 1000

// simulateFlags are the flags of "shard simulate".
type simulateFlags struct {
	servers, strategy, job string
	items                  int
	with, without          []string

	hasItems, hasStrategy bool
}

// shardCommand has the verbs about the items of jobs.
func shardCommand(term *terminal) *cobra.Command {
	return operatorNoun(term, &cobra.Command{Use: "shard", Short: "Show which instance gets which items"}, shardSimulate)
}

func shardSimulate(o *operatorVerb) *cobra.Command {
	o.readOnly = true
	var f simulateFlags
	c := &cobra.Command{
		Use: "simulate", Short: "Show which instance would get which items, and what would move", Args: cobra.NoArgs,
		Long: "Simulate calls a strategy and writes nothing. With --servers it needs no registry: items and\n" +
			"strategy come from --job in the configuration, or from --items and --strategy. With --job alone\n" +
			"the instances are those in the registry that no operator has disabled, and moves are relative to\n" +
			"the present owners; otherwise they are relative to the same strategy's result without --with and\n" +
			"--without.",
		Example: "  wasmjobd shard simulate --servers 5 --items 10 --without 10.0.0.2\n" +
			"  wasmjobd shard simulate --job report --with 10.0.0.9",
	}
	c.Flags().StringVar(&f.servers, "servers", "", "`N` made-up instances, or ids or addresses ID,ID,…")
	c.Flags().IntVar(&f.items, "items", 0, "number of items (default: those of --job)")
	c.Flags().StringVar(&f.strategy, "strategy", "", "`name` of a built-in strategy (default: that of --job, or average)")
	c.Flags().StringVar(&f.job, "job", "", "use items and strategy of this job, and without --servers its instances and owners")
	c.Flags().StringSliceVar(&f.with, "with", nil, "as if this instance, an `id` or an address, had joined; may be repeated")
	c.Flags().StringSliceVar(&f.without, "without", nil, "as if this instance, an `id` or an address, were gone; may be repeated")
	c.RunE = func(c *cobra.Command, _ []string) error {
		f.hasItems, f.hasStrategy = c.Flags().Changed("items"), c.Flags().Changed("strategy")
		switch {
		case f.job == "" && f.servers == "":
			return usage("write --servers, or --job to take them from the registry")
		case f.job == "" && !f.hasItems:
			return usage("write --items, or --job to take them from a job")
		case f.job == "":
			return o.bounded(c.Context(), func(ctx context.Context) error { return f.simulate(ctx, o.term, new(config.File), nil) })
		case f.servers != "":
			return o.within(c.Context(), func(ctx context.Context, file *config.File) error { return f.simulate(ctx, o.term, file, nil) })
		}
		return o.ask(c.Context(), func(ctx context.Context, file *config.File, op cluster) error {
			r, err := op.Job(ctx, f.job)
			if err != nil {
				return withNearest(ctx, op, f.job, err)
			}
			return f.simulate(ctx, o.term, file, r)
		})
	}
	return c
}

// simulate shows the result of a strategy; r is the job in the registry, nil if the registry is
// not used.
func (f *simulateFlags) simulate(ctx context.Context, term *terminal, file *config.File, r *operator.JobReport) error {
	c, err := f.config(file, r)
	if err != nil {
		return err
	}
	now, err := f.now(r)
	if err != nil {
		return err
	}
	then, err := f.changed(now.instances)
	if err != nil {
		return err
	}
	a := assigner{job: c, labels: now.labels}
	if err := a.choose(ctx, term, file, r); err != nil {
		return err
	}
	// Without a registry, moves are relative to what the strategy returns for the unchanged instances.
	if now.owners == nil && !slices.Equal(now.instances, then) {
		if now.owners, err = a.owners(ctx, now.instances, nil); err != nil {
			return err
		}
	}
	after, err := a.owners(ctx, then, now.owners)
	if err != nil {
		return err
	}
	return printSimulated(term, simulated{Version: 1, Job: f.job, Strategy: a.name, Items: c.Shards, shardMoves: movesOf(then, now.owners, after)})
}

// config returns the job whose items are assigned: as the registry has it if r is not nil, otherwise as
// the configuration does, and without --job a made-up one. --items and --strategy override its settings.
func (f *simulateFlags) config(file *config.File, r *operator.JobReport) (job.Config, error) {
	c := job.Config{Name: cmp.Or(f.job, "simulated")}
	switch own, found := jobNamed(file, f.job); {
	case r != nil && r.Config == nil:
		return c, exitf(exitConflict, "the configuration of job %s in the registry cannot be read; see job show", f.job)
	case r != nil:
		c = *r.Config
	case found:
		c = own
	case f.job != "":
		return c, noSuchJob(file, f.job)
	}
	if f.hasItems {
		c.Shards = f.items
	}
	if f.hasStrategy {
		c.Strategy, c.StrategyModule = f.strategy, ""
	}
	if c.Shards < 1 || c.Shards > job.MaxShards {
		return c, usage("--items %d: write 1 to %d", c.Shards, job.MaxShards)
	}
	return c, nil
}

// present is the present state: the instances, and the owner of each item, nil if not known.
type present struct {
	instances []string
	owners    []string
	labels    map[string]map[string]string
}

// now returns the present state: the instances of --servers, or those of the job in the registry with
// their items, if r is not nil. A disabled instance gets no items, so it is left out.
func (f *simulateFlags) now(r *operator.JobReport) (present, error) {
	var p present
	var err error
	switch {
	case f.servers != "":
		p.instances, err = serversIn(f.servers)
		return p, err
	case r == nil:
		return p, nil
	}
	p.owners, p.labels = []string{}, map[string]map[string]string{}
	for _, m := range r.Members {
		if !m.Disabled {
			p.instances = append(p.instances, string(m.ID))
			p.labels[string(m.ID)] = m.Labels
		}
	}
	for _, it := range r.Items { // grow p.owners to the item; "" is no owner
		p.owners = append(p.owners, slices.Repeat([]string{""}, max(0, it.Item+1-len(p.owners)))...)
		p.owners[it.Item] = string(it.Owner)
	}
	return p, nil
}

// serversIn reads --servers: a number of made-up instances, or their ids.
func serversIn(text string) ([]string, error) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > maxSimulated {
			return nil, usage("--servers %s: write 1 to %d, or ids", text, maxSimulated)
		}
		var all []string
		for i := range n {
			all = append(all, string(job.NewInstanceID("10.0."+strconv.Itoa((i+1)/256)+"."+strconv.Itoa((i+1)%256), "1")))
		}
		return all, nil
	}
	var all []string
	for id := range strings.SplitSeq(text, ",") {
		id, err := simulatedID("servers", id)
		if err != nil {
			return nil, err
		}
		if slices.Contains(all, id) {
			return nil, usage("--servers %s: it is listed twice", plain(id))
		}
		if all = append(all, id); len(all) > maxSimulated {
			return nil, usage("--servers: write at most %d", maxSimulated)
		}
	}
	return all, nil
}

// simulatedID reads the id of an instance, or its address, from a flag.
func simulatedID(flag, text string) (string, error) {
	id := instanceID(text)
	if err := id.Validate(); err != nil {
		return "", usage("--%s %s: %w", flag, plain(text), err)
	}
	return string(id), nil
}

// changed returns the instances, with those of --with and without those of --without.
func (f *simulateFlags) changed(now []string) ([]string, error) {
	then := slices.Clone(now)
	for _, text := range f.without {
		n := len(then)
		then = slices.DeleteFunc(then, func(id string) bool { return id == text || job.InstanceID(id).IP() == text })
		if len(then) == n {
			return nil, usage("--without %s: there is no such instance", plain(text))
		}
	}
	for _, text := range f.with {
		id, err := simulatedID("with", text)
		if err != nil {
			return nil, err
		}
		if slices.Contains(then, id) {
			return nil, usage("--with %s: it is there already", plain(id))
		}
		then = append(then, id)
	}
	if len(then) == 0 || len(then) > maxSimulated {
		return nil, exitf(exitConflict, "items can be assigned to 1 to %d instances, and there are %d; name some with --servers or --with", maxSimulated, len(then))
	}
	return then, nil
}

// assigner calls the strategy of a job as a leading server would.
type assigner struct {
	job    job.Config
	name   string // of the strategy
	labels map[string]map[string]string
	s      strategy.Strategy
}

// choose finds the strategy of the job. r is the job in the registry; nil if the registry is not used.
// While members of ElasticJob share the job, no module assigns the items, since they know no modules.
func (a *assigner) choose(ctx context.Context, term *terminal, file *config.File, r *operator.JobReport) (err error) {
	shared := r != nil && slices.ContainsFunc(r.Members, func(m operator.MemberReport) bool { return m.Foreign })
	name := a.job.StrategyModule
	if name == "" || shared {
		a.name = cmp.Or(a.job.Strategy, "average")
		if a.s, err = strategy.Named(a.job.Strategy); err != nil {
			return exitf(exitInvalid, "%w", err)
		}
		return nil
	}
	i := slices.IndexFunc(file.Modules, func(m config.Module) bool { return m.Name == name })
	if i < 0 {
		return exitf(exitNotFound, "the strategy of the job is module %s, which the configuration does not have; name a built-in one with --strategy", plain(name))
	}
	wasm, _, err := readSigned(ctx, term, cmp.Or(file.Modules[i].Artifact, file.Modules[i].Path))
	if err != nil {
		return err
	}
	a.name = "module " + name
	a.s = strategy.Func(func(ctx context.Context, q strategy.Request) ([][]int, error) {
		owners, _, err := guest.Assign(ctx, wasm, a.call(q), guestOptions(term))
		items := make([][]int, len(q.Instances))
		for item, k := range owners { // the sandbox has checked each index
			items[k] = append(items[k], item)
		}
		return items, err
	})
	return nil
}

// call builds the input of a module's strategy. -1 is no previous owner.
func (a *assigner) call(q strategy.Request) job.ShardCall {
	c := job.ShardCall{Config: a.job, Total: q.Total, Previous: slices.Repeat([]int{-1}, q.Total), Log: slog.New(slog.DiscardHandler)}
	for k, id := range q.Instances {
		c.Instances = append(c.Instances, job.ShardInstance{ID: job.InstanceID(id), Labels: a.labels[id]})
		for _, item := range q.Previous[k] {
			c.Previous[item] = k
		}
	}
	return c
}

// owners calls the strategy, and returns the new owner of each item. before are the present owners; nil
// if they are not known.
func (a *assigner) owners(ctx context.Context, instances, before []string) ([]string, error) {
	q := strategy.Request{Job: a.job.Name, Total: a.job.Shards, Instances: slices.Clone(instances), Previous: make([][]int, len(instances))}
	slices.SortFunc(q.Instances, func(a, b string) int { return strings.Compare(b, a) }) // the registry's order
	for item, id := range before {
		// An owner may be gone, and the job may have had more items.
		if k := slices.Index(q.Instances, id); k >= 0 && item < q.Total {
			q.Previous[k] = append(q.Previous[k], item)
		}
	}
	items, err := a.s.Assign(ctx, q)
	if err == nil {
		err = strategy.Check(q, items)
	}
	if err != nil {
		return nil, exitf(exitRunFailed, "strategy %s: %w", plain(a.name), err)
	}
	owners := make([]string, q.Total)
	for k, all := range items {
		for _, item := range all {
			owners[item] = q.Instances[k]
		}
	}
	return owners, nil
}
