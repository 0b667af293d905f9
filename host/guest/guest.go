package guest

import (
	"context"
	"slices"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/job"
)

// Run runs a module once, outside of any server, without registry and history. If the call has
// no HTTP client, Run sends the requests that the call's configuration grants. When ctx ends,
// the guest is first asked to stop, and is ended once its grace period is over. A guest that
// fails is an outcome; the error is a *Refusal or a fault of this host.
func Run(ctx context.Context, wasm []byte, c job.Call, o Options) (out job.Outcome, err error) {
	if grants := c.Config.Allow.HTTP; c.HTTP == nil && len(grants) > 0 {
		client, err := outbound.New(grants, outbound.Options{AllowPrivate: o.PrivateHosts})
		if err != nil {
			return out, &host.Error{Code: host.Invalid, Msg: "grants of http", Err: err}
		}
		defer client.Close()
		c.HTTP = client
	}
	if o.ReadOnly {
		c.Config.Allow.Dirs = slices.Clone(c.Config.Allow.Dirs)
		for i := range c.Config.Allow.Dirs {
			c.Config.Allow.Dirs[i].Write = false
		}
		if c.HTTP != nil {
			c.HTTP = readOnly{c.HTTP}
		}
	}
	err = o.withSandbox(wasm, func(e *sandbox.Engine) error {
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
	return out, exported(err)
}

// Assign calls a strategy's module once to assign items, outside of any server. owners has, for
// each item, the index of an instance; took excludes the time for loading the module. The error
// is a *Refusal, an *AssignFault or a fault of this host.
func Assign(ctx context.Context, wasm []byte, c job.ShardCall, o Options) (owners []int, took time.Duration, err error) {
	err = o.withSandbox(wasm, func(e *sandbox.Engine) error {
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
	return owners, took, exported(err)
}

// withSandbox calls use with a new sandbox for a module, and closes it afterwards.
func (o Options) withSandbox(wasm []byte, use func(*sandbox.Engine) error) error {
	e, free, err := o.engine(wasm)
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
