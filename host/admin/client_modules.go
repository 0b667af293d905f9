package admin

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// lookAgain is the time between two looks at a job that is to get a module.
const lookAgain = 100 * time.Millisecond

// KeepModule sends the bytes of a module to the server. No job runs it because of
// that.
func (c *Client) KeepModule(ctx context.Context, wasm []byte, digest string) error {
	answer, err := c.send(ctx, http.MethodPut, modulesPath+"/"+url.PathEscape(digest), wasmType, bytes.NewReader(wasm))
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	return nil
}

// NextModule is operator.Operator.NextModule. What next calls the module is left to
// the server.
func (c *Client) NextModule(ctx context.Context, name string, next operator.ModuleRef) error {
	return c.post(ctx, name, ":set-module", map[string]string{"digest": next.Digest, "reference": next.Reference})
}

// RollBack is operator.Operator.RollBack.
func (c *Client) RollBack(ctx context.Context, name, to string) (back operator.ModuleRef, runs bool, err error) {
	if name, err = checkName(name); err != nil {
		return back, false, err
	}
	var d movedDocument
	err = c.read(ctx, http.MethodPost, jobPath(name)+":rollback-module", map[string]string{"to": to}, &d)
	return d.ModuleRef, d.Runs, err
}

// WithdrawModule is operator.Operator.WithdrawModule.
func (c *Client) WithdrawModule(ctx context.Context, name, digest string) error {
	return c.post(ctx, name, ":withdraw-module", map[string]string{"digest": digest})
}

// AwaitModule is operator.Operator.AwaitModule.
func (c *Client) AwaitModule(ctx context.Context, name, digest string, report func(operator.ModuleWait)) error {
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	reported := map[operator.ModuleWait]bool{}
	for {
		r, err := c.Job(ctx, name)
		if err == nil {
			members := 0
			for _, m := range r.Members {
				if !m.Foreign {
					members++
				}
			}
			var runs bool
			if runs, err = r.Modules.Awaited(name, digest, members); runs {
				return nil
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			for _, w := range r.Modules.Waits {
				if w.Fault != "" && !reported[w] {
					reported[w] = true
					report(w)
				}
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return &host.Error{Code: host.Unavailable, Msg: "wait for the module of job " + name + ": not every server has it", Err: ctx.Err()}
		}
	}
}
