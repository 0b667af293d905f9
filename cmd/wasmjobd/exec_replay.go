package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

// replayed says which run was replayed, and what differed.
type replayed struct {
	Run         string      `json:"run"`
	Attempt     int         `json:"attempt"`
	State       trace.State `json:"state"`
	Error       string      `json:"error,omitempty"`
	NotRestored []string    `json:"not_restored"`
}

// replay is a run of the history with everything needed to run it again.
type replay struct {
	flags *execFlags
	term  *terminal
	files []string // of the configuration
	file  *config.File
	job   job.Config
	row   trace.Row
	state *itemState
	r     replayed
}

// withReplay returns the flags that may be combined with --replay; the history determines the
// rest.
func withReplay() []string {
	return []string{"replay", "write", "attempt", "config", "allow", "quiet", "output"}
}

// runAgain runs an attempt of the history once more, as exec does with --replay. args may name a module
// to run instead of the original one.
func (f *execFlags) runAgain(ctx context.Context, term *terminal, c *cobra.Command, args []string) error {
	for _, name := range setFlags(c) {
		if !slices.Contains(withReplay(), name) {
			return usage("--%s: --replay reads this from the history; leave it out", name)
		}
	}
	if len(args) > 1 {
		return usage("write one module, or none to run the original one: %s", c.UseLine())
	}
	p := &replay{flags: f, term: term, files: f.settings, state: &itemState{readOnly: !f.write}, r: replayed{NotRestored: []string{}}}
	if len(p.files) == 0 {
		p.files = []string{defaultConfig}
	}
	for _, grant := range f.allow {
		file, ok := strings.CutPrefix(grant, "state=")
		if !ok {
			return usage("--allow %s: the job's grants apply; only state=FILE can be combined with --replay", grant)
		}
		p.state.file = file
	}
	var err error
	if p.file, err = loadConfig(term, p.files); err != nil {
		return err
	}
	if err := p.find(ctx, c.Flags().Changed("attempt")); err != nil {
		return err
	}
	wasm, err := p.module(args)
	if err != nil {
		return err
	}
	call, err := p.call(ctx)
	if err != nil {
		return err
	}
	t := guestOptions(term)
	t.PrivateHosts, t.ReadOnly = p.file.Host.Allow.PrivateHosts, !f.write
	log := &guestLog{}
	if !term.json() {
		p.announce()
		if !f.quiet {
			log.to = term.err
		}
	}
	call.Log = log.logger()
	return execute(ctx, term, attempt{wasm: wasm, call: call, options: t, log: log, state: p.state, replayed: &p.r})
}

// setFlags returns the names of the flags that a command line has.
func setFlags(c *cobra.Command) (names []string) {
	c.Flags().Visit(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	return names
}

// find reads the row of --replay, which names it as job/item/run, or as job/item/time like "history
// list". With attempt, that is the number of --attempt; otherwise it takes the newest attempt for which
// a module ran.
func (p *replay) find(ctx context.Context, attempt bool) error {
	filter, err := filterOf(p.flags.replay)
	if err != nil {
		return usage("--replay %w", err)
	}
	if err := historyThere(p.file); err != nil {
		return err
	}
	at, err := historyAt(p.term, p.file)
	if err != nil {
		return err
	}
	rows, err := sqltrace.OpenReader(ctx, at)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // only read
	// nothing is a row for which no module ran, such as a missed instant.
	var nothing *trace.Row
	for {
		page, err := rows.Query(ctx, filter)
		if err != nil {
			return err
		}
		for _, row := range page.Rows { // the newest attempt comes first
			switch {
			case attempt && row.Attempt != p.flags.attempt:
			case row.Digest == "":
				nothing = &row
			default:
				p.row = row
				p.r.Run, p.r.Attempt, p.r.State, p.r.Error = fmt.Sprintf("%s/%d/%s", row.Job, row.Item, row.Run), row.Attempt, row.State, row.Error
				return nil
			}
		}
		if filter.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	if nothing != nil {
		return exitf(exitConflict, "nothing ran for %s: it is %s (%s)", p.flags.replay, nothing.State, orDash(plain(nothing.Reason.String()+nothing.Error)))
	}
	return exitf(exitNotFound, "the history at %s has no such run: %s (see wasmjobd history list --job %s)", rows.Place(), p.flags.replay, filter.Job)
}

// module returns the module that ran, or the one to try instead.
func (p *replay) module(args []string) ([]byte, error) {
	if len(args) == 0 {
		wasm, err := guest.Stored(p.file.Server.DataDir, p.row.Digest)
		if err != nil {
			return nil, exitf(exitNotFound, "%w; name a module to run instead: wasmjobd exec MODULE.wasm --replay …", err)
		}
		return wasm, nil
	}
	p.differs("the module: %s instead of sha256:%s", args[0], p.row.Digest)
	return readModule(p.term, args[0])
}

// differs records a difference from the original run.
func (p *replay) differs(format string, args ...any) {
	p.r.NotRestored = append(p.r.NotRestored, fmt.Sprintf(format, args...))
}

// call returns the original call as far as it is recorded. The configuration supplies the rest.
func (p *replay) call(ctx context.Context) (job.Call, error) {
	i := slices.IndexFunc(p.file.Jobs, func(c job.Config) bool { return c.Name == p.row.Job })
	if i < 0 {
		return job.Call{}, exitf(exitNotFound, "there is no job %q in %s, which would have its parameters and grants", p.row.Job, strings.Join(p.files, ", "))
	}
	p.job = p.file.Jobs[i]
	if p.job.Command != "" {
		return job.Call{}, exitf(exitInvalid, "job %q is a command of the operating system now", p.job.Name)
	}
	p.differs("parameters, settings, limits and grants: those that %s has now", strings.Join(p.files, ", "))
	params, err := job.ParseItemParams(p.job.ItemParams)
	if err != nil { // cannot fail: the configuration is valid
		return job.Call{}, err
	}
	c := job.Call{
		Config: p.job, Namespace: p.file.Registry.Namespace, Instance: job.InstanceID(p.row.Instance), TaskID: p.row.TaskID,
		// The job may have fewer items by now.
		Total: max(p.job.Shards, p.row.Item+1), Item: p.row.Item, Items: []int{p.row.Item}, Params: map[int]string{},
		RunID: p.r.Run, Attempt: p.row.Attempt, Scheduled: time.UnixMilli(p.row.Instant), Fence: p.row.Fence,
		Failover: p.row.Cause == trace.Failover, Misfire: p.row.Cause == trace.Misfire, State: p.state,
	}
	if task, err := job.ParseTaskID(p.row.TaskID); err == nil { // it has the items that ran together
		c.Items = task.Items
	}
	if p.row.Param != "" { // the parameter of this run alone
		c.Config.Param = p.row.Param
	}
	for _, item := range c.Items {
		if param, ok := params[item]; ok {
			c.Params[item] = param
		}
	}
	c.ItemParam, c.HasItemParam = params[c.Item]
	if c.Secrets, err = p.secrets(); err != nil {
		return c, err
	}
	p.surroundings()
	return c, p.readState(ctx)
}

// secrets returns the secrets of the job.
func (p *replay) secrets() (map[string]string, error) {
	if len(p.job.Allow.Secrets) == 0 {
		return nil, nil
	}
	all, err := p.file.Secrets(p.term.env)
	if err != nil {
		return nil, exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	p.differs("secrets: their present values")
	maps.DeleteFunc(all, func(name, _ string) bool { return !slices.Contains(p.job.Allow.Secrets, name) })
	return all, nil
}

// surroundings records what differs in the environment of the guest: what it can reach by its grants is
// not recorded, and may have changed since.
func (p *replay) surroundings() {
	a := p.job.Allow
	if a.Clock == "real" {
		p.differs("the clock: it is later")
	}
	if a.Random {
		p.differs("random numbers: real ones do not repeat")
	}
	if len(a.Dirs) > 0 && p.flags.write {
		p.differs("files: their present content")
	} else if len(a.Dirs) > 0 {
		p.differs("files: their present content, and without --write none is changed")
	}
	if len(a.HTTP) > 0 && p.flags.write {
		p.differs("answers to requests: present ones")
	} else if len(a.HTTP) > 0 {
		p.differs("answers to requests: present ones, and without --write all but GET and HEAD are denied")
	}
}

// readState reads the values of the item from a file if one was named, otherwise from the registry if
// possible, otherwise none. The values that the original run found are not recorded.
func (p *replay) readState(ctx context.Context) error {
	if !p.job.Allow.State {
		return nil
	}
	if p.state.file != "" {
		keep := "and without --write new values are discarded"
		if p.flags.write {
			keep = "where new values are stored, too"
		}
		p.differs("the state: that of %s, %s", p.state.file, keep)
		return p.state.open()
	}
	o := operatorVerb{term: p.term, readOnly: true}
	ctx, cancel := context.WithTimeout(ctx, defaultPatience)
	defer cancel()
	var values map[string][]byte
	err := o.lookAt(ctx, p.file, func(op *operator.Operator) (err error) {
		values, err = op.ItemState(ctx, p.job.Name, p.row.Item)
		return err
	})
	if err := p.state.open(); err != nil { // without a file: no values
		return err
	}
	if err != nil { // of the registry
		text, _, _ := strings.Cut(err.Error(), "\n")
		p.differs("the state: none, as the registry cannot be read (%s); read it from a file with --allow state=FILE", text)
		return nil
	}
	p.state.before, p.state.now = values, maps.Clone(values)
	p.differs("the state: the item's present one; new values are discarded")
	return nil
}

// announce prints what is replayed and what differs, before it runs.
func (p *replay) announce() {
	how := string(p.row.State)
	if reason := plain(cmp.Or(p.row.Error, p.row.Reason.String())); reason != "" {
		how += ": " + reason
	}
	p.term.note("replays %s, attempt %d of %s on %s, which is %s", p.r.Run, p.row.Attempt,
		time.UnixMilli(p.row.Instant).UTC().Format(time.RFC3339), orDash(serverOf(p.row.Instance)), how)
	for _, text := range p.r.NotRestored {
		p.term.note("different: %s", text)
	}
}
