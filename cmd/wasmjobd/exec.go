package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
)

// execFlags are the flags of "exec".
type execFlags struct {
	item, total, attempt int
	param                string
	jobParam, job        string
	settings, allow      []string
	timeout, grace       time.Duration
	memory               byteSize
	quiet                bool
}

// execution is what "exec" prints as JSON.
type execution struct {
	Verdict      job.Verdict `json:"verdict"`
	Code         int32       `json:"code"`
	Result       string      `json:"result,omitempty"`
	ResultBase64 []byte      `json:"result_base64,omitempty"` // if it is not text
	Error        string      `json:"error,omitempty"`
	Took         string      `json:"took"`
	TookMS       float64     `json:"took_ms"`
	PeakBytes    int64       `json:"peak_bytes"`
	HostCalls    int64       `json:"host_calls"`
	Module       string      `json:"module"`
	Log          []logLine   `json:"log"`
}

func execCommand(term *terminal) *cobra.Command {
	var flags execFlags
	c := &cobra.Command{
		Use:   "exec MODULE.wasm",
		Short: "Run a module once, here and now",
		Long: "Exec runs one item of a job with a context made up from the flags: no server, no registry, no\n" +
			"history. Nothing is granted that --allow does not name. Exit code 8 means that the run failed, 9\n" +
			"that it took too long, 3 that the module cannot be run.",
		Example: "  wasmjobd exec job.wasm --item 1 --total 3 --param north\n" +
			"  wasmjobd exec job.wasm --allow dir=ro:./reports:/data --config-value root=/data --timeout 30s\n" +
			"  wasmjobd exec job.wasm --allow env=TZ=UTC --allow clock=real --allow random -o json",
		Args: oneModule,
	}
	f := c.Flags()
	f.IntVar(&flags.item, "item", 0, "sharding item")
	f.IntVar(&flags.total, "total", 1, "sharding total count")
	f.IntVar(&flags.attempt, "attempt", 1, "which attempt this is")
	f.StringVar(&flags.param, "param", "", "parameter of the item (default: it has none)")
	f.StringVar(&flags.jobParam, "job-param", "", "parameter of the job")
	f.StringVar(&flags.job, "job", "", "name of the job (default: the name of the file)")
	f.StringArrayVar(&flags.settings, "config-value", nil, "setting of the job, as `key=value`; may be repeated")
	f.StringArrayVar(&flags.allow, "allow", nil, "`grant`: dir=ro:HOST:GUEST, env=NAME=VALUE, clock=real, random; may be repeated")
	f.DurationVar(&flags.timeout, "timeout", 0, "deadline of the run (default: none)")
	f.DurationVar(&flags.grace, "grace", 0, "how long the guest may go on after the deadline (default 2s)")
	f.Var(&flags.memory, "memory", "memory limit, as 64MiB")
	f.BoolVarP(&flags.quiet, "quiet", "q", false, "do not show what the guest logs")
	c.RunE = func(c *cobra.Command, args []string) error {
		log := &guestLog{}
		if !term.json() && !flags.quiet {
			log.to = term.err
		}
		call, err := flags.call(args[0], c.Flags().Changed("param"))
		if err != nil {
			return err
		}
		call.Log = log.logger()
		wasm, err := readModule(term, args[0])
		if err != nil {
			return err
		}
		return untilSignal(c.Context(), func(ctx context.Context) error {
			return execute(ctx, term, wasm, call, log)
		})
	}
	return c
}

// call makes up what a server would know.
func (f *execFlags) call(path string, hasParam bool) (job.Call, error) {
	if f.total < 1 || f.total > job.MaxShards || f.item < 0 || f.item >= f.total {
		return job.Call{}, usage("--item %d --total %d: the item is 0 to total-1, and there are at most %d", f.item, f.total, job.MaxShards)
	}
	if f.attempt < 1 {
		return job.Call{}, usage("--attempt %d: the first is 1", f.attempt)
	}
	for flag, d := range map[string]time.Duration{"timeout": f.timeout, "grace": f.grace} {
		if d < 0 {
			return job.Call{}, usage("--%s %s: write a duration, or leave it out", flag, d)
		}
	}
	name := f.job
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	c := job.Call{
		Config: job.Config{
			Name: name, Kind: job.Simple, Shards: f.total, Param: f.jobParam, Timeout: f.timeout,
			Settings: map[string]string{}, Limits: job.Limits{Memory: int64(f.memory), Grace: f.grace},
		},
		Instance: job.NewInstanceID("127.0.0.1", "exec"),
		Total:    f.total, Item: f.item, ItemParam: f.param, HasItemParam: hasParam,
		Items: []int{f.item}, Params: map[int]string{},
		Attempt: f.attempt, Scheduled: time.Now().Truncate(time.Second),
	}
	if hasParam {
		c.Params[f.item] = f.param
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
			return job.Call{}, usage("--config-value %q: write key=value", s)
		}
		c.Config.Settings[key] = value
	}
	if c.Config.Allow, err = parseGrants(f.allow); err != nil {
		return job.Call{}, err
	}
	return c, impossible(c.Config)
}

// impossible says what no configuration could say either. The name is left
// out: here it is that of a file as a rule.
func impossible(c job.Config) error {
	c.Name, c.Overlap, c.OnRegistryLoss, c.Layout = "exec", job.Skip, job.CancelOnLoss, job.Layout21
	if fault, ok := errors.AsType[*job.FieldError](c.Validate()); ok {
		return usage("%s: %s", fault.Field, fault.Msg)
	}
	return nil
}

// parseGrants reads the values of --allow.
func parseGrants(grants []string) (job.Allow, error) {
	a := job.Allow{Env: map[string]string{}}
	for _, g := range grants {
		kind, value, _ := strings.Cut(g, "=")
		switch kind {
		case "dir":
			mode, rest, _ := strings.Cut(value, ":")
			colon := strings.LastIndexByte(rest, ':')
			if mode != "ro" || colon <= 0 {
				return a, usage("--allow %s: write dir=ro:HOST:GUEST, e.g. dir=ro:./reports:/data", g)
			}
			a.Dirs = append(a.Dirs, job.Dir{Host: rest[:colon], Guest: rest[colon+1:]})
		case "env":
			name, text, ok := strings.Cut(value, "=")
			if !ok || name == "" {
				return a, usage("--allow %s: write env=NAME=VALUE", g)
			}
			a.Env[name] = text
		case "clock":
			if value != "real" && value != "fixed" {
				return a, usage("--allow %s: write clock=real or clock=fixed", g)
			}
			a.Clock = value
		case "random":
			if value != "" && value != "true" {
				return a, usage("--allow %s: write random", g)
			}
			a.Random = true
		default:
			return a, usage("--allow %s: there are dir=ro:HOST:GUEST, env=NAME=VALUE, clock=real and random", g)
		}
	}
	return a, nil
}

func execute(ctx context.Context, term *terminal, wasm []byte, call job.Call, log *guestLog) error {
	out, err := host.RunModule(ctx, wasm, call)
	if refusal, ok := errors.AsType[*host.ModuleRefusal](err); ok {
		return exitf(exitInvalid, "the module cannot be run: %w", refusal)
	}
	if err != nil {
		return err
	}
	if term.json() {
		err = term.printJSON(executionOf(out, log))
	} else {
		printOutcome(term, out)
	}
	if err != nil {
		return err
	}
	switch out.Verdict {
	case job.OK, job.Nothing:
		return nil
	case job.Deadline, job.Stopped:
		if ctx.Err() != nil {
			return fmt.Errorf("run: %w", ctx.Err()) // by a signal, which has a code of its own
		}
		return exitf(exitRunCancelled, "the run took too long: %s", out.Error)
	case job.Failure, job.Retryable:
	}
	return exitf(exitRunFailed, "the run failed: %s", out.Error)
}

func executionOf(out job.Outcome, log *guestLog) execution {
	e := execution{
		Verdict: out.Verdict, Code: out.Code, Error: out.Error,
		Took: out.Took.Round(time.Microsecond).String(), TookMS: float64(out.Took.Microseconds()) / 1000,
		PeakBytes: out.PeakBytes, HostCalls: out.HostCalls, Module: out.Digest, Log: log.lines,
	}
	if e.Log == nil {
		e.Log = []logLine{}
	}
	if utf8.Valid(out.Result) {
		e.Result = string(out.Result)
	} else {
		e.ResultBase64 = out.Result
	}
	return e
}

func printOutcome(term *terminal, out job.Outcome) {
	term.printf("verdict     %s (code %d)\n", out.Verdict, out.Code)
	if out.Result != nil {
		term.printf("result      %s\n", resultText(out.Result))
	}
	term.printf("took        %s\npeak memory %s\nhost calls  %d\nmodule      sha256:%s\n",
		out.Took.Round(time.Microsecond), sizeText(out.PeakBytes), out.HostCalls, out.Digest)
}
