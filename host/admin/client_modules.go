package admin

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// pollInterval is the interval at which AwaitModule reads the job.
const pollInterval = 100 * time.Millisecond

// KeepModule uploads a module to the server, with the text of its signature; nil: it has none.
// No job runs it until NextModule names it.
func (c *Client) KeepModule(ctx context.Context, wasm, sign []byte, digest string) error {
	answer, err := c.sendModule(ctx, http.MethodPut, modulesPath+"/"+url.PathEscape(digest), bytes.NewReader(wasm), sign)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	return nil
}

// sendModule sends a module with the text of its signature; nil: it has none.
func (c *Client) sendModule(ctx context.Context, method, path string, wasm operator.Wasm, sign []byte) (*http.Response, error) {
	r, err := c.newRequest(ctx, method, path, wasmType, io.NewSectionReader(wasm, 0, wasm.Size()))
	if err != nil {
		return nil, err
	}
	r.ContentLength = wasm.Size()
	r.Header.Set("Expect", "100-continue") // so that the body is not sent if the server refuses the headers
	if len(sign) > 0 {
		r.Header.Set(signatureHeader, base64.StdEncoding.EncodeToString(sign))
	}
	return c.do(r)
}

// PushModule is operator.Operator.PushModule on the server. Only Job, Name, DryRun and the
// signature of p are sent.
func (c *Client) PushModule(ctx context.Context, wasm operator.Wasm, p operator.Push) (d operator.PushReport, err error) {
	query := url.Values{"dry_run": {strconv.FormatBool(p.DryRun)}}
	addTexts(query, map[string]string{"job": p.Job, "name": p.Name})
	answer, err := c.sendModule(ctx, http.MethodPost, modulesPath+"?"+query.Encode(), wasm, p.Signature)
	if err != nil {
		return d, err
	}
	defer func() { _ = answer.Body.Close() }()
	err = c.decode(answer.Body, http.MethodPost, &d)
	return d, err
}

// NextModule is operator.Operator.NextModule, without the name of next: the server keeps
// the current one.
func (c *Client) NextModule(ctx context.Context, name string, next operator.ModuleRef) error {
	return c.post(ctx, name, ":set-module", map[string]string{"digest": next.Digest, "reference": next.Reference})
}

// RollBack is operator.Operator.RollBack.
func (c *Client) RollBack(ctx context.Context, name, to string) (back operator.ModuleRef, runs bool, err error) {
	var d rollBackDocument
	body := map[string]string{}
	if to != "" {
		body["to"] = to
	}
	err = c.readJob(ctx, http.MethodPost, name, ":rollback-module", body, &d)
	return d.ModuleRef, d.Runs, err
}

// WithdrawModule is operator.Operator.WithdrawModule.
func (c *Client) WithdrawModule(ctx context.Context, name, digest string) error {
	return c.post(ctx, name, ":withdraw-module", map[string]string{"digest": digest})
}

// AwaitModule is operator.Operator.AwaitModule. It reads the job again and again.
func (c *Client) AwaitModule(ctx context.Context, name, digest string, report func(operator.ModuleWait)) error {
	again := time.NewTicker(pollInterval)
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
		if err != nil && ctx.Err() == nil { // else the end of ctx is reported below
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
