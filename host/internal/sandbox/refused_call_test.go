package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// The reason of a failed run names the last host function that was refused, and the grant
// or limit. A guest cannot know them, because it only gets a code.
func TestAFailureNamesTheRefusedCall(t *testing.T) {
	t.Parallel()
	granted := func(change func(c *job.Call)) job.Call {
		c := granted(change)
		c.Secrets = map[string]string{"key": "s3cret"} // the usual ones are words of the messages
		return c
	}
	failing := func(err error) job.Call {
		return granted(func(c *job.Call) {
			c.HTTP = &network{do: func(context.Context, job.HTTPRequest) (*job.HTTPResponse, error) { return nil, err }}
		})
	}
	limited := func(limits job.Limits) job.Call {
		return granted(func(c *job.Call) { c.Config.Limits = limits })
	}
	get := "GET https://a/x\n\n"
	for name, tt := range map[string]struct {
		ask  func(a *asking)
		call job.Call
		want string // empty: no line
	}{
		"no grant":       {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, job.Call{}, "the host denied http_request: grant it with allow.http"},
		"no clock":       {func(a *asking) { a.ask(abi.FuncNow) }, job.Call{}, "the host denied now_unix_ms: grant it with allow.clock"},
		"not this URL":   {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, failing(fmt.Errorf("%w: GET https://a:443/x", job.ErrDenied)), "the host denied http_request: not granted: GET https://a:443/x; see allow.http"},
		"not this one":   {func(a *asking) { a.ask(abi.FuncSecretGet, "other", 0, 0) }, granted(nil), "the host denied secret_get: secret other is not granted; see allow.secrets"},
		"a secret's":     {func(a *asking) { a.ask(abi.FuncSecretGet, "s3cret", 0, 0) }, granted(nil), "the host denied secret_get: secret *** is not granted; see allow.secrets"},
		"long name":      {func(a *asking) { a.ask(abi.FuncSecretGet, strings.Repeat("s", maxShownName+1), 0, 0) }, granted(nil), "the host denied secret_get: grant it with allow.secrets"},
		"secret in line": {func(a *asking) { a.ask(abi.FuncHTTPRequest, "GET https://a/\nX: {{secret:b}}\n\n") }, granted(nil), `the host denied http_request: secret "b" in header X: not granted; see allow.secrets`},
		"result":         {func(*asking) {}, job.Call{Config: job.Config{Limits: job.Limits{Result: 100}}}, "the host refused result_set: limits.result is 100 bytes"},
		"value":          {func(a *asking) { a.ask(abi.FuncStateSet, "k", "12345") }, limited(job.Limits{StateValue: 4}), "the host refused state_set: limits.state_value is 4 bytes"},
		"key":            {func(a *asking) { a.ask(abi.FuncStateSet, "", "1") }, granted(nil), "the host refused state_set: a key is text of 1 to 256 bytes"},
		"state": {func(a *asking) {
			for i := range maxStateValues + 1 {
				a.ask(abi.FuncStateSet, strings.Repeat("k", i+1), "1")
			}
		}, granted(nil), "the host refused state_set: an item has at most 64 values, and with their keys 262144 bytes"},
		"body": {func(a *asking) { a.ask(abi.FuncHTTPRequest, get+"12345") }, limited(job.Limits{HTTPBody: 4}), "the host refused http_request: limits.http_body is 4 bytes"},
		"answer": {func(a *asking) {
			a.ask(abi.FuncHTTPRequest, get).ask(abi.FuncHTTPRead, 1, 0, 99).ask(abi.FuncHTTPRead, 1, 0, 99)
		}, limited(job.Limits{HTTPBody: 4}), "the host refused http_read: limits.http_body is 4 bytes"},
		"calls":         {func(a *asking) { a.ask(abi.FuncHTTPRequest, get).ask(abi.FuncHTTPRequest, get) }, limited(job.Limits{HTTPCalls: 1}), "the host refused http_request: limits.http_calls is 1"},
		"metric":        {func(a *asking) { a.ask(abi.FuncMetricAdd, "no good", 1.0) }, job.Call{}, "the host refused metric_add: a name is 1 to 64 of A-Z a-z 0-9 _ . - and a value is finite"},
		"handle":        {func(a *asking) { a.ask(abi.FuncHTTPStatus, 7) }, granted(nil), "the host refused http_status: an argument is invalid"},
		"no request":    {func(a *asking) { a.ask(abi.FuncHTTPRequest, "GET\n\n") }, granted(nil), "the host refused http_request: the request cannot be read: its first line is not METHOD URL"},
		"network":       {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, failing(errors.New("dial: refused")), "the host could not complete http_request: dial: refused"},
		"masked":        {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, failing(errors.New("no\ns3cret at \"https://a/?k=v&x\"")), `the host could not complete http_request: no\n*** at "https://a/?..."`},
		"quoted query":  {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, failing(fmt.Errorf("parse %q: no", `https://a/?k="v\w"`)), `the host could not complete http_request: parse "https://a/?...": no`},
		"long error":    {func(a *asking) { a.ask(abi.FuncHTTPRequest, get) }, failing(errors.New(strings.Repeat("x", 1000))), "the host could not complete http_request: " + strings.Repeat("x", maxRefusalCause) + "..."},
		"the last one":  {func(a *asking) { a.ask(abi.FuncNow).ask(abi.FuncMetricAdd, "", 1.0) }, job.Call{}, "the host refused metric_add: a name is 1 to 64 of A-Z a-z 0-9 _ . - and a value is finite"},
		"repeated well": {func(a *asking) { a.ask(abi.FuncMetricAdd, "", 1.0).ask(abi.FuncMetricAdd, "a", 1.0) }, job.Call{}, ""},
		"not there":     {func(a *asking) { a.ask(abi.FuncStateGet, "k", 0, 0) }, granted(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asking{end: i32(abi.ResultFailed)}
			tt.ask(a)
			_, _, out := a.run(t, tt.call)
			_, line, _ := strings.Cut(out.Error, "\n")
			if out.Verdict != job.Failure || line != tt.want {
				t.Errorf("%s: %q, want %q", out.Verdict, out.Error, tt.want)
			}
		})
	}
}

// A run that does without what was refused has no reason for a failure.
func TestRefusedCallOfASuccessfulRun(t *testing.T) {
	t.Parallel()
	a := &asking{}
	a.ask(abi.FuncNow)
	if _, _, out := a.run(t, job.Call{}); out.Verdict != job.OK || out.Error != "" {
		t.Errorf("%s: %q", out.Verdict, out.Error)
	}
}

// The line about a refused call concerns the entry that failed, not an earlier one that
// ended well, nor the listener that is called afterwards.
func TestRefusedCallOfTheEntryThatFailed(t *testing.T) {
	t.Parallel()
	const denied = "\nthe host denied now_unix_ms: grant it with allow.clock"
	listened := func(inExecute bool) []byte {
		b := &builder{}
		asks := drop(call(b.abi(abi.FuncNow)))
		execute := i32(abi.ResultFailed)
		if inExecute {
			execute = slices.Concat(asks, execute)
		}
		return b.entry(abi.ExportBefore, asks, i32(0)).entry(abi.ExportExecute, execute).entry(abi.ExportAfter, asks, i32(0)).guest()
	}
	flow := func(inProcess bool) []byte {
		return pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
			asks := drop(call(b.abi(abi.FuncNow)))
			process = i32(abi.ResultFailed)
			if inProcess {
				process = slices.Concat(asks, process)
			}
			return slices.Concat(drop(add(0, 3)), drop(add(3, 2)), asks, i32(0)), process
		})
	}
	pair := flowing(func(c *job.Config) { c.Concurrency = 2 })
	for name, tt := range map[string]struct {
		wasm []byte
		call job.Call
		want string
	}{
		"listeners": {listened(false), job.Call{}, ""},
		"execute":   {listened(true), job.Call{}, denied},
		"fetch":     {flow(false), pair, ""},
		"process":   {flow(true), pair, denied},
	} {
		out := runOnce(t, tt.wasm, tt.call)
		if want := "the job failed with code 1 and gave no reason" + tt.want; out.Verdict != job.Failure || out.Error != want {
			t.Errorf("%s: %s: %q, want %q", name, out.Verdict, out.Error, want)
		}
	}
}
