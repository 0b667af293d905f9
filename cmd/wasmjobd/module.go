package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/admin"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/guest"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/internal/oci"
)

const (
	// switchPatience is how long servers may take to get a module ready.
	switchPatience = 2 * time.Minute
	// withdrawPatience bounds the cleanup after an interruption.
	withdrawPatience = 10 * time.Second
)

// moduleCommand has the verbs about the modules of jobs.
func moduleCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "module", Short: "Bring modules to servers, and set those of jobs: push, set, rollback, pin, unpin, show, list, rm, prune, retry",
		Long: "Like the verbs of job, these use the registry of the configuration, or the server that has it\n" +
			"inside. On ZooKeeper, set also connects to the servers that run the job, at the addresses that\n" +
			"they publish, with the peer_token of the configuration.",
	}
	return operatorNoun(term, c, modulePush, moduleSet, moduleRollback, modulePin, moduleUnpin, moduleShow, moduleList, moduleRemove, modulePrune, moduleRetry)
}

func moduleSet(o *operatorVerb) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use: "set JOB MODULE.wasm|NAME@VERSION", Short: "Bring a new module to the servers of a job, and switch to it", Args: cobra.ExactArgs(2),
		Long: "The module is checked here, as by inspect, sent to the servers that run the job, and named as the\n" +
			"job's next. When all of them have compiled it, all switch at once; runs in progress keep the\n" +
			"module with which they began. If a server cannot prepare it, or the command is interrupted, the next\n" +
			"module is withdrawn and the job keeps its present one. A module that was pushed with a name is not\n" +
			"sent again: the servers check it when they prepare it.",
		Example: "  wasmjobd module set report report.wasm\n  wasmjobd module set report report@1.4.0\n  wasmjobd module rollback report",
	}
	waitFlag(c, &wait)
	o.needsServer = true
	c.RunE = func(c *cobra.Command, args []string) error {
		o.timeout += wait // --timeout is only for the requests
		if namesVersion(args[1]) {
			return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
				next := operator.ModuleRef{Reference: args[1]}
				var err error
				if next.Digest, err = op.Resolve(ctx, args[1]); err != nil {
					return err
				}
				return o.untilStart(f, op, args[0], o.setModule(ctx, op, args[0], next, wait))
			})
		}
		wasm, sign, err := readSigned(c.Context(), o.term, args[1])
		if err != nil {
			return err
		}
		report, err := guest.Inspect(wasm)
		if refusal, ok := errors.AsType[*guest.Refusal](err); ok {
			return exitf(exitInvalid, "%s: %w", args[1], refusal)
		}
		if err != nil {
			return err
		}
		next := operator.ModuleRef{Digest: report.Digest}
		if args[1] != "-" {
			next.Reference = filepath.Base(args[1])
			if oci.Is(args[1]) {
				next.Reference = args[1]
			}
		}
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			if err := fits(ctx, op, args[0], report); err != nil {
				return withNearest(ctx, op, args[0], err)
			}
			if err := o.bring(ctx, f, op, args[0], broughtModule{wasm, sign, next.Digest}); err != nil {
				return err
			}
			return o.untilStart(f, op, args[0], o.setModule(ctx, op, args[0], next, wait))
		})
	}
	return c
}

func waitFlag(c *cobra.Command, wait *time.Duration) {
	c.Flags().DurationVar(wait, "wait", switchPatience, "how long to wait until servers have the module ready; 0: do not wait")
}

// setModule names the next module, and waits until the job runs it.
func (o *operatorVerb) setModule(ctx context.Context, op cluster, name string, next operator.ModuleRef, wait time.Duration) error {
	if err := op.NextModule(ctx, name, next); err != nil {
		o.unname(ctx, op, name, next.Digest, err)
		return err
	}
	return o.awaitModule(ctx, op, name, next.Digest, wait)
}

// fits returns an error for a module that the job in the registry could not run.
func fits(ctx context.Context, op cluster, name string, report guest.Report) error {
	r, err := op.Job(ctx, name)
	switch {
	case err != nil:
		return err
	case r.Config == nil:
		return exitf(exitConflict, "set the module of job %s: its configuration cannot be read: %s", name, reason.Words(r.Faults, "; "))
	case r.Modules.Now == nil:
		return exitf(exitConflict, "set the module of job %s: it runs no module", name)
	case !slices.Contains(report.Kinds, string(r.Config.Kind)):
		return exitf(exitConflict, "set the module of job %s: the module can be: %s, and the job is %s", name, strings.Join(report.Kinds, ", "), r.Config.Kind)
	}
	return nil
}

// broughtModule is a module to be sent to servers.
type broughtModule struct {
	wasm, sign []byte
	digest     string
}

// bring sends the bytes of a module to the servers of a job: to the server with the embedded
// registry, or to those whose addresses the registry has.
func (o *operatorVerb) bring(ctx context.Context, f *config.File, op cluster, name string, m broughtModule) error {
	if server, ok := op.(*admin.Client); ok {
		return server.KeepModule(ctx, m.wasm, m.sign, m.digest)
	}
	registry, ok := op.(*operator.Operator)
	if !ok || f.Registry.Kind != config.ZooKeeper {
		return &host.Error{Code: host.Refused, Msg: fmt.Sprintf("set the module of job %s: no running server can receive it", name)}
	}
	return o.bringToPeers(ctx, f, registry, name, m)
}

// bringToPeers sends a module to the servers of a job, which accept it with the peer token. A server that
// is not reached fetches the module from the others later, so that is only noted.
func (o *operatorVerb) bringToPeers(ctx context.Context, f *config.File, op *operator.Operator, name string, m broughtModule) error {
	// The servers would refuse a module that none of their keys has signed.
	if _, err := operator.SignatureOf(bytes.NewReader(m.wasm), host.Signing{Keys: f.Host.ModuleKeys, Signature: m.sign}); err != nil {
		return err
	}
	token, err := f.PeerToken(o.term.env)
	if err != nil {
		return exitf(exitInvalid, "secrets are not there:\n%w", err)
	}
	if token == "" {
		return exitf(exitInvalid, "servers accept modules only with their peer_token; add it to [server] of the configuration")
	}
	faults, err := op.BringModule(ctx, name, m.wasm, m.sign, token)
	for _, fault := range faults {
		o.term.note("wasmjobd: a server gets the module from another server: %v", fault)
	}
	return err
}

// awaitModule waits until the job runs the module that was named as its next, and withdraws that module if
// the wait fails or takes too long. With wait 0 it does not wait.
func (o *operatorVerb) awaitModule(ctx context.Context, op cluster, name, digest string, wait time.Duration) error {
	if wait == 0 {
		return o.moduleResult(name, digest, "is to come")
	}
	patience, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := op.AwaitModule(patience, name, digest, func(w operator.ModuleWait) {
		o.term.note("wasmjobd: %s cannot prepare the module: %s", plain(string(w.ID)), plainUpTo(sentenceLimit, w.Fault))
	})
	if err == nil {
		return o.moduleResult(name, digest, "runs")
	}
	o.withdraw(ctx, op, name, digest)
	return err
}

// unname withdraws a module that may be named as the next one, although naming it failed with err: the
// verb was interrupted, or the outcome of the transaction is not known. After other errors it is not named.
func (o *operatorVerb) unname(ctx context.Context, op cluster, name, digest string, err error) {
	coded, ok := errors.AsType[*host.Error](err)
	if ctx.Err() != nil || ok && (coded.Code == host.Unknown || coded.Code == host.Unavailable) {
		o.withdraw(ctx, op, name, digest)
	}
}

// withdraw withdraws the next module, even if the verb was interrupted.
func (o *operatorVerb) withdraw(ctx context.Context, op cluster, name, digest string) {
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	if err := op.WithdrawModule(after, name, digest); err != nil {
		o.term.note("wasmjobd: the next module may still be named, see module show: %v", err)
		return
	}
	o.term.note("wasmjobd: stopped waiting; module show %s prints which module runs", name)
}

// untilStart returns err, the result of changing the module of a job. If there is none, it warns that the
// change lasts only until the server's next start: the file of the server that has the registry inside is
// f, and with overwrite = true the module in it then replaces the registry's.
func (o *operatorVerb) untilStart(f *config.File, op cluster, name string, err error) error {
	if _, inside := op.(*admin.Client); err == nil && inside && slices.ContainsFunc(f.Jobs, func(c job.Config) bool { return c.Name == name && c.Overwrite }) {
		o.term.note("wasmjobd: at its next start the server uses the module that its file names for job %s; change the file, or set overwrite = false", plain(name))
	}
	return err
}

func moduleRollback(o *operatorVerb) *cobra.Command {
	var to string
	var wait time.Duration
	c := &cobra.Command{
		Use: "rollback JOB", Short: "Go back to an earlier module of a job", Args: cobra.ExactArgs(1),
		Long: "If a next module is awaited, it is withdrawn and the job keeps its present one. Otherwise the job\n" +
			"goes back to its previous module in the way set goes forward: when every server has it. Repeated,\n" +
			"it goes back to older ones; module show lists them.",
	}
	c.Flags().StringVar(&to, "to", "", "module whose `digest` begins with this, instead of the one before")
	waitFlag(c, &wait)
	c.RunE = func(c *cobra.Command, args []string) error {
		o.timeout += wait // --timeout is only for the requests
		return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
			return o.untilStart(f, op, args[0], o.rollBack(ctx, op, args[0], to, wait))
		})
	}
	return c
}

// rollBack goes one step back, and waits until the job runs the resulting module. to is the beginning of a
// digest, or "" for the previous module.
func (o *operatorVerb) rollBack(ctx context.Context, op cluster, name, to string, wait time.Duration) error {
	back, runs, err := op.RollBack(ctx, name, to)
	switch {
	case err != nil:
		if back.Digest != "" && !runs {
			o.unname(ctx, op, name, back.Digest, err)
		}
		return withNearest(ctx, op, name, err)
	case runs: // the next module was withdrawn, and the present one goes on
		return o.moduleResult(name, back.Digest, "runs")
	}
	return o.awaitModule(ctx, op, name, back.Digest, wait)
}

// The JSON of the verbs below module. Scripts read it: add fields, but do not change any.

type movedModule struct {
	Version int    `json:"version"`
	Job     string `json:"job"`
	Digest  string `json:"digest"`
	State   string `json:"state"` // runs, or is to come
}

// moduleResult prints which module a job has now.
func (o *operatorVerb) moduleResult(name, digest, state string) error {
	return o.term.answer(movedModule{Version: 1, Job: name, Digest: digest, State: state}, "%s: %s %s\n", plain(name), digest, state)
}

func moduleShow(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show the present, next and earlier modules of a job", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, f *config.File, op cluster) error {
				r, err := op.Job(ctx, args[0])
				if err != nil {
					return withNearest(ctx, op, args[0], err)
				}
				refused, err := refusedOf(f, &r.Modules)
				if err != nil {
					return err
				}
				if o.term.json() {
					return o.term.printJSON(modulesShown{Version: 1, Job: r.Name, shownModules: modulesOf(&r.Modules), Refused: refused})
				}
				return printModules(o.term, r, refused)
			})
		},
	}
}
