package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
)

// kindStrategy is a module that assigns items, in addition to the kinds of jobs.
const kindStrategy = "strategy"

// execFlags are the flags of "exec".
type execFlags struct {
	kind, event             string
	item, total, attempt    int
	param, itemParam, job   string
	settings, allow, args   []string
	instances, previous     []string
	streaming               bool
	fetchCount, concurrency int
	timeout, grace          time.Duration
	memory                  byteSize
	fuel                    int64
	quiet                   bool
	replay                  string
	write                   bool

	hasItemParam bool
}

func execCommand(term *terminal) *cobra.Command {
	var flags execFlags
	c := &cobra.Command{
		Use:   "exec [MODULE.wasm]",
		Short: "Run a module once, on this machine",
		Long: "Exec runs one item of a job with a context made up from the flags, without server, registry and\n" +
			"history. For a strategy it shows which instance would get which item. It grants only\n" +
			"what --allow names:\n" +
			"  dir=ro:HOST:GUEST     a directory to read, or with rw: to change\n" +
			"  env=NAME=VALUE        a variable\n" +
			"  http=URL              requests, such as \"https://host/path\" or \"GET https://host/path\"\n" +
			"  secret=NAME=VALUE     a secret; env:VAR takes it from a variable, file:PATH from a file\n" +
			"  private_host=NAME     a host that requests may reach in a private network, or on this machine\n" +
			"  state, state=FILE     values of the item, discarded at the end or stored in a JSON file\n" +
			"  clock, random         the real ones\n" +
			"With --replay it runs an attempt of the history again, on the machine of the server: the original\n" +
			"or the named module, with run id, instant, attempt, fencing token and instance of that attempt,\n" +
			"with the parameter that the run had of its own, and otherwise with the parameters and grants in\n" +
			"the present configuration (--config FILE, by default jobs.toml). It lists what differs from the\n" +
			"original run. Without --write it changes nothing: new state is discarded, files are read-only, and\n" +
			"requests other than GET and HEAD are denied.\n\n" +
			"The compiled code of recently used modules is stored in the user's cache directory, where no run\n" +
			"may write. Ctrl-C asks the guest to stop, and ends it when its grace is over; a second one ends\n" +
			"everything at once. Exit code 8 means that the run failed, 9 that it took too long, 3 that the\n" +
			"module cannot be run.",
		Example: "  wasmjobd exec job.wasm --item 1 --total 3 --item-param north\n" +
			"  wasmjobd exec job.wasm --allow dir=ro:./reports:/data --config root=/data --timeout 30s\n" +
			"  wasmjobd exec job.wasm --allow http=https://example.org --allow secret=token=env:TOKEN -o json\n" +
			"  wasmjobd exec flow.wasm --kind dataflow --streaming --allow state=state.json\n" +
			"  wasmjobd exec strategy.wasm --total 7 --instance 10.0.0.1,weight=2 --instance 10.0.0.2\n" +
			"  wasmjobd exec --replay orders/3/2026-01-31T12:00:00Z --config jobs.toml",
	}
	flags.define(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if flags.replay != "" {
			return untilSignal(c.Context(), func(ctx context.Context) error { return flags.runAgain(ctx, term, c, args) })
		}
		if flags.write {
			return usage("--write needs --replay; to keep the item's values, write --allow state=FILE")
		}
		if err := oneModule(c, args); err != nil {
			return err
		}
		flags.hasItemParam = c.Flags().Changed("item-param")
		run, err := flags.prepare(term, args[0])
		if err != nil {
			return err
		}
		return untilSignal(c.Context(), run)
	}
	return c
}

func (f *execFlags) define(c *cobra.Command) {
	s := c.Flags()
	s.StringVar(&f.kind, "kind", "", "simple, dataflow, script or strategy (default: a kind that the module can be)")
	s.StringVar(&f.event, "event", "", "call this listener, not the entry: started or completed")
	s.StringVar(&f.job, "job", "", "name of the job (default: the name of the file)")
	s.StringVar(&f.param, "param", "", "parameter of the job")
	s.IntVar(&f.item, "item", 0, "sharding item")
	s.IntVar(&f.total, "total", 1, "sharding total count")
	s.StringVar(&f.itemParam, "item-param", "", "parameter of the item (default: none)")
	s.IntVar(&f.attempt, "attempt", 1, "number of the attempt")
	s.StringArrayVar(&f.settings, "config", nil, "setting of the job, as `key=value`; may be repeated; with --replay a configuration file")
	s.StringArrayVar(&f.allow, "allow", nil, "`grant`, see above; may be repeated")
	s.DurationVar(&f.timeout, "timeout", 0, "deadline of the run (default: none)")
	s.DurationVar(&f.grace, "grace", 0, "how long the guest may go on after the deadline (default 2s)")
	s.Var(&f.memory, "memory", "memory limit, such as 64MiB")
	s.Int64Var(&f.fuel, "fuel", 0, "fuel limit (default: none)")
	s.BoolVar(&f.streaming, "streaming", false, "dataflow: fetch batches until one is empty")
	s.IntVar(&f.fetchCount, "fetch-count", 0, "dataflow: wanted elements per batch (default: any)")
	s.IntVar(&f.concurrency, "concurrency", 0, "dataflow: parts of a batch processed at once (default 1)")
	s.StringArrayVar(&f.args, "arg", nil, "script: `argument` before the context; may be repeated")
	s.StringArrayVar(&f.instances, "instance", nil, "strategy: an instance that may get items, as `id[,label=value]...`; may be repeated (default: three made-up ones)")
	s.StringSliceVar(&f.previous, "previous", nil, "strategy: the present owners of the items, as `id,id,...`, with - for none")
	s.StringVar(&f.replay, "replay", "", "run an attempt of the history again: `job/item/run`, or job/item/time as \"history list\" shows it")
	s.BoolVar(&f.write, "write", false, "with --replay: apply the changes that the run makes")
	s.BoolVarP(&f.quiet, "quiet", "q", false, "do not show the guest's log")
}

// prepare checks the flags and reads the module at path, and returns the function that runs it. So errors
// in the flags are reported before signals are caught.
func (f *execFlags) prepare(term *terminal, path string) (func(context.Context) error, error) {
	call, err := f.call(path)
	if err != nil {
		return nil, err
	}
	g := &grants{env: term.env}
	if err := g.parse(f.allow); err != nil {
		return nil, err
	}
	call.Config.Allow, call.Secrets = g.allow, g.secrets
	wasm, err := readModule(term, path)
	if err != nil {
		return nil, err
	}
	if err := f.choose(wasm, &call.Config); err != nil {
		return nil, err
	}
	log := &guestLog{}
	if !term.json() && !f.quiet {
		log.to = term.err
	}
	call.Log = log.logger()
	t := guestOptions(term)
	t.PrivateHosts = g.private
	if call.Config.Kind == kindStrategy { // it assigns items, and runs none
		c, err := f.shardCall(call)
		return func(ctx context.Context) error { return assign(ctx, term, wasm, c, t, log) }, err
	}
	if err := impossible(call.Config); err != nil {
		return nil, err
	}
	state := &itemState{file: g.stateFile}
	if err := state.open(); err != nil {
		return nil, err
	}
	call.State = state
	return func(ctx context.Context) error {
		return execute(ctx, term, attempt{wasm: wasm, call: call, options: t, log: log, state: state})
	}, nil
}

// call returns the call of the module at path, with values that a server would supply and that the flags
// replace.
func (f *execFlags) call(path string) (job.Call, error) {
	if f.total < 1 || f.total > job.MaxShards || f.item < 0 || f.item >= f.total {
		return job.Call{}, usage("--item %d --total %d: the item is 0 to total-1, and there are at most %d", f.item, f.total, job.MaxShards)
	}
	if f.attempt < 1 {
		return job.Call{}, usage("--attempt %d: the first is 1", f.attempt)
	}
	if f.timeout < 0 || f.grace < 0 {
		return job.Call{}, usage("--timeout %s --grace %s: write a duration, or leave it out", f.timeout, f.grace)
	}
	name := cmp.Or(f.job, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	c := job.Call{
		Config: job.Config{
			Name: name, Kind: f.meant(), Shards: f.total, Param: f.param, Timeout: f.timeout,
			Streaming: f.streaming, FetchCount: f.fetchCount, Concurrency: f.concurrency, Args: f.args,
			Settings: map[string]string{}, Limits: job.Limits{Memory: int64(f.memory), Grace: f.grace, Fuel: f.fuel},
		},
		Instance: job.NewInstanceID("127.0.0.1", "exec"),
		Total:    f.total, Item: f.item, ItemParam: f.itemParam, HasItemParam: f.hasItemParam,
		Items: []int{f.item}, Params: map[int]string{},
		Attempt: f.attempt, Scheduled: time.Now().Truncate(time.Second), Event: job.Event(f.event),
	}
	if f.hasItemParam {
		c.Params[f.item] = f.itemParam
		text, err := job.FormatItemParams(c.Params)
		if err != nil {
			return job.Call{}, usage("--item-param: %w (put such values into --config)", err)
		}
		c.Config.ItemParams = text
	}
	if f.event != "" && c.Event != job.FireStarted && c.Event != job.FireCompleted {
		return job.Call{}, usage("--event %q: write %s or %s", f.event, job.FireStarted, job.FireCompleted)
	}
	task, err := job.NewTaskID(name, c.Items, c.Instance)
	if err != nil {
		return job.Call{}, usage("--job %q: %w", name, err)
	}
	c.TaskID = task.String()
	c.RunID = fmt.Sprintf("%s/%d/%d", name, f.item, c.Scheduled.UnixMilli())
	for _, s := range f.settings {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return job.Call{}, usage("--config %q: write key=value", s)
		}
		c.Config.Settings[key] = value
	}
	return c, nil
}

// meant returns the kind that --kind names, or that the other flags imply.
func (f *execFlags) meant() job.Kind {
	switch {
	case f.kind != "":
		return job.Kind(f.kind)
	case f.streaming || f.fetchCount != 0 || f.concurrency != 0:
		return job.Dataflow
	case len(f.args) > 0:
		return job.Script
	case len(f.instances) > 0 || len(f.previous) > 0:
		return kindStrategy
	}
	return ""
}

// choose sets the kind in c, unless the flags name or imply one, to one that the module can be. It refuses
// a kind that the module cannot be, and flags of another kind.
func (f *execFlags) choose(wasm []byte, c *job.Config) error {
	report, err := guest.Inspect(wasm)
	if refusal, ok := errors.AsType[*guest.Refusal](err); ok {
		return exitf(exitInvalid, "the module cannot be run: %w", refusal)
	}
	if err != nil {
		return err
	}
	switch known := []job.Kind{job.Simple, job.Dataflow, job.Script, kindStrategy}; {
	case c.Kind == "":
		c.Kind = job.Kind(report.Kinds[0]) // the sandbox refuses a module without kinds
	case !slices.Contains(known, c.Kind):
		return usage("--kind %q: write simple, dataflow, script or strategy", f.kind)
	case !slices.Contains(report.Kinds, string(c.Kind)):
		return exitf(exitInvalid, "the module is not of the kind %s; it can be: %s", c.Kind, strings.Join(report.Kinds, ", "))
	}
	if assignmentReport := len(f.instances) > 0 || len(f.previous) > 0; assignmentReport && c.Kind != kindStrategy {
		return usage("--instance and --previous are for strategies, and this module is of the kind %s", c.Kind)
	}
	// Flags that would be ignored are refused.
	ofRuns := len(f.allow) > 0 || len(f.args) > 0 || f.streaming || f.hasItemParam || f.event != "" || f.timeout != 0 || f.fuel != 0
	if ofRuns && c.Kind == kindStrategy {
		return usage("a strategy has no grants and no item, and limits of its own: leave out --allow, --timeout and other flags of items")
	}
	return nil
}

// impossible returns an error for values of flags that would also be invalid in a configuration. It does
// not check the name of the job, which here usually comes from a file's name.
func impossible(c job.Config) error {
	// Exec has no use for these fields, but Validate requires them.
	c.Name, c.Overlap, c.OnRegistryLoss, c.Layout = "exec", job.Skip, job.CancelOnLoss, job.Layout21
	if fault, ok := errors.AsType[*job.FieldError](c.Validate()); ok {
		return usage("%s: %s", fault.Field, fault.Why)
	}
	return nil
}

// attempt is one run of a module by exec.
type attempt struct {
	wasm     []byte
	call     job.Call
	options  guest.Options
	log      *guestLog
	state    *itemState
	replayed *replayed // set if a run of the history is replayed
}

// execute runs an attempt, and prints its outcome. The error says how the run failed.
func execute(ctx context.Context, term *terminal, a attempt) error {
	// A signal ends ctx.
	forget := context.AfterFunc(ctx, func() { term.note("asked the guest to stop; press Ctrl-C again to end it at once") })
	defer forget()
	out, err := guest.Run(ctx, a.wasm, a.call, a.options)
	if refusal, ok := errors.AsType[*guest.Refusal](err); ok {
		return exitf(exitInvalid, "the module cannot be run: %w", refusal)
	}
	if coded, ok := errors.AsType[*host.Error](err); ok && coded.Code == host.Invalid {
		return usage("%v", coded)
	}
	if err != nil {
		return err
	}
	e := executionOf(out, a.call.Config.Kind, a.log, a.state)
	e.Replay = a.replayed
	if term.json() {
		err = term.printJSON(e)
	} else {
		printExecution(term, e, out.Result)
	}
	if err != nil {
		return err
	}
	if ctx.Err() != nil { // a signal has its own exit code, whatever the guest returned
		return fmt.Errorf("run: %w", ctx.Err())
	}
	switch out.Verdict {
	case job.OK, job.Nothing:
		return nil
	case job.Deadline, job.Stopped:
		return exitf(exitRunCancelled, "the run took too long: %s", out.Error)
	case job.Failure, job.Retryable, job.OutOfFuel: // see below
	}
	return exitf(exitRunFailed, "the run failed: %s", out.Error)
}
