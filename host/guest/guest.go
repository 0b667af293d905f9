package guest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// ModuleReport says what a module consists of, without running it.
type ModuleReport struct {
	sandbox.Report
	Listeners []string `json:"listeners"` // before, after, started, completed
	// Since is the number of additions to the host that the module's functions
	// ask for: an older host would refuse it.
	Since int `json:"since"`
}

// ModuleRefusal is the error for a module that this host will not run; it says
// what is wrong and how to build the module right.
type ModuleRefusal = sandbox.Refusal

// StrategyFault is the error for a strategy that did not deal as it must.
type StrategyFault = sandbox.ShardError

// InspectModule takes a module apart. The report is filled in also when the
// error is a *ModuleRefusal, unless nothing could be read (then its Digest is
// empty).
func InspectModule(wasm []byte) (report ModuleReport, err error) {
	err = Trial{}.withSandbox(wasm, func(e *sandbox.Engine) error {
		report.Report, err = e.Inspect(wasm)
		return err
	})
	report.Listeners = []string{}
	for _, export := range report.Exports {
		switch export.Name {
		case abi.ExportBefore, abi.ExportAfter, abi.ExportStarted, abi.ExportCompleted:
			report.Listeners = append(report.Listeners, strings.TrimPrefix(export.Name, "wasmjob_"))
		}
	}
	since := map[string]int{}
	for _, f := range abi.Functions() {
		since[f.Name] = f.Since
	}
	for _, im := range report.Imports {
		if im.Module == abi.Module {
			report.Since = max(report.Since, since[im.Name])
		}
	}
	return report, err
}

// RunModule runs a module once, outside of any server: no registry, no
// history, nothing but the call. Requests that the call's configuration grants
// are sent, if the call brings nothing that sends them. When ctx ends the guest is
// asked to stop, and ended when its grace is over. A guest's fault is an outcome;
// the error is a *ModuleRefusal or a fault of this host.
func RunModule(ctx context.Context, wasm []byte, c job.Call, t Trial) (out job.Outcome, err error) {
	if grants := c.Config.Allow.HTTP; c.HTTP == nil && len(grants) > 0 {
		client, err := outbound.New(grants, outbound.Options{AllowPrivate: t.PrivateHosts})
		if err != nil {
			return out, &host.Error{Code: host.Invalid, Msg: "grants of http", Err: err}
		}
		defer client.Close()
		c.HTTP = client
	}
	if t.ReadOnly {
		c.Config.Allow.Dirs = slices.Clone(c.Config.Allow.Dirs)
		for i := range c.Config.Allow.Dirs {
			c.Config.Allow.Dirs[i].Write = false
		}
		if c.HTTP != nil {
			c.HTTP = readOnly{c.HTTP}
		}
	}
	err = t.withSandbox(wasm, func(e *sandbox.Engine) error {
		m, err := e.Load(ctx, wasm)
		if err != nil {
			return err
		}
		defer m.Close()
		hard, done := stoppable(ctx, &c)
		defer done()
		out = e.Run(hard, m, c)
		return nil
	})
	return out, err
}

// DealModule asks a strategy's module once to deal out items, outside of any
// server. The answer has, per item, the index of an instance, and took is
// without loading the module. The error is a *ModuleRefusal, a *StrategyFault
// or a fault of this host.
func DealModule(ctx context.Context, wasm []byte, c job.ShardCall, t Trial) (owners []int, took time.Duration, err error) {
	err = t.withSandbox(wasm, func(e *sandbox.Engine) error {
		m, err := e.Load(ctx, wasm)
		if err != nil {
			return err
		}
		defer m.Close()
		began := time.Now()
		owners, err = e.Shard(ctx, m, c)
		took = time.Since(began)
		return err
	})
	return owners, took, err
}

// withSandbox lends a sandbox for one piece of work with a module.
func (t Trial) withSandbox(wasm []byte, use func(*sandbox.Engine) error) error {
	e, free, err := t.engine(wasm)
	if err != nil {
		return err
	}
	defer free()
	err = use(e)
	if closeErr := e.Close(); err == nil {
		err = closeErr
	}
	return err
}
