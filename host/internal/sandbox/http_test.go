package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// A guest cannot multiply a secret: the secrets of a request are limited, and count as
// memory of the run.
func TestSecretsOfARequestAreBounded(t *testing.T) {
	t.Parallel()
	most := strings.Repeat("k3y-", maxInserted/4)
	n := &network{}
	var a asking
	a.ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:key}}\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:key}}\nB: {{secret:lines}}\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: "+strings.Repeat("{{secret:key}}", 2500)+"\n\n")
	c := granted(func(c *job.Call) { c.HTTP, c.Secrets["key"], c.Secrets["lines"] = n, most, "b" })
	wasm := a.wasm()
	if got := answersOf(runOnce(t, wasm, c), 3); !slices.Equal(got, []int64{1, abi.ErrLimit, abi.ErrLimit}) {
		t.Errorf("answers %v", got)
	}
	if len(n.asked) != 1 || n.asked[0].Header[0].Value != most {
		t.Errorf("%d requests were sent", len(n.asked))
	}
	e := tight(t, answerBytes+maxInserted/2)
	out := e.Run(t.Context(), load(t, e, wasm), c)
	if got := answersOf(out, 3); !slices.Equal(got, []int64{abi.ErrLimit, abi.ErrLimit, abi.ErrLimit}) || len(n.asked) != 1 {
		t.Errorf("without memory for the secret: %v, %s, %d requests", got, out.Error, len(n.asked))
	}
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	n := &network{}
	var a asking
	room := a.room(64)
	a.ask(abi.FuncHTTPRequest, "POST https://a/x?y\nX-Test: yes \r\nAuthorization: Bearer {{secret:key}}\n\nping").
		ask(abi.FuncHTTPStatus, 1).
		ask(abi.FuncHTTPHeader, 1, "X-a", room, 64).
		ask(abi.FuncHTTPHeader, 1, "none", room, 64).
		ask(abi.FuncHTTPRead, 1, room+16, 0).
		ask(abi.FuncHTTPRead, 1, room+16, 5).
		ask(abi.FuncHTTPRead, 1, room+21, 40).
		ask(abi.FuncHTTPRead, 1, room, 40).
		ask(abi.FuncHTTPClose, 1).
		ask(abi.FuncHTTPClose, 1).ask(abi.FuncHTTPStatus, 1).ask(abi.FuncHTTPRead, 1, room, 1).ask(abi.FuncHTTPHeader, 1, "X-A", room, 1).
		ask(abi.FuncHTTPStatus, 0).ask(abi.FuncHTTPStatus, -1).
		ask(abi.FuncHTTPRequest, "GET https://a/denied\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/broken\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:hidden}}\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:none}}\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:key\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\nA: {{secret:lines}}\n\n").
		ask(abi.FuncHTTPRequest, "nonsense")
	const bad = abi.ErrInvalid
	mem, out := a.wants(t, granted(func(c *job.Call) { c.HTTP = n }),
		1, 200, 4, abi.ErrNotFound, 0, 5, 9, 0, 0, bad, bad, bad, bad, bad, bad,
		abi.ErrDenied, abi.ErrIO, abi.ErrDenied, abi.ErrDenied, bad, bad, bad)
	expect(t, out, job.OK, "")
	if got := string(mem[room : room+4]); got != "1, 2" {
		t.Errorf("header %q", got)
	}
	if got := string(mem[room+16 : room+30]); got != "hello POSTping" {
		t.Errorf("body %q", got)
	}
	r := n.asked[0]
	want := []job.HTTPField{{Name: "X-Test", Value: "yes"}, {Name: "Authorization", Value: "Bearer s3cret"}}
	if r.Method != "POST" || r.URL != "https://a/x?y" || !slices.Equal(r.Header, want) || !slices.Equal(r.Private, []string{"Authorization"}) {
		t.Errorf("sent %+v", r)
	}
	if len(n.asked) != 3 {
		t.Errorf("%d requests were sent", len(n.asked))
	}
}

func TestHTTPWithoutGrant(t *testing.T) {
	t.Parallel()
	var a asking
	a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPStatus, 1)
	n := &network{}
	a.wants(t, granted(func(c *job.Call) { c.HTTP, c.Config.Allow.HTTP = n, nil }), abi.ErrDenied, abi.ErrDenied)
	var b asking
	b.ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	b.wants(t, granted(func(c *job.Call) { c.HTTP = nil }), abi.ErrDenied)
	if len(n.asked) != 0 {
		t.Error("a request was sent")
	}
}

// The guest gets a code for a denied request, and the log the reason, but only a
// limited number of times.
func TestHTTPFailuresAreReported(t *testing.T) {
	t.Parallel()
	var a asking
	for range maxExplained + 10 {
		a.ask(abi.FuncHTTPRequest, "GET https://a/\nauthorization: {{secret:nobodys}}\n\n")
	}
	var log bytes.Buffer
	a.run(t, granted(func(c *job.Call) { c.Log, c.Config.Limits.LogRate = textLog(&log), 1000 }))
	if got := log.String(); strings.Count(got, "request of the guest failed") != maxExplained || !strings.Contains(got, `secret \"nobodys\" in header authorization`) {
		t.Errorf("%d lines, such as %.300s", strings.Count(got, "\n"), got)
	}
}

func TestHTTPLimits(t *testing.T) {
	t.Parallel()
	n := &network{}
	var a asking
	room := a.room(64)
	a.ask(abi.FuncHTTPRequest, "POST https://a/\n\n1234567890").
		ask(abi.FuncHTTPRequest, "POST https://a/\n\n12345678901").
		ask(abi.FuncHTTPRead, 1, room, 64).
		ask(abi.FuncHTTPRead, 1, room, 64).
		ask(abi.FuncHTTPRead, 1, room, 64).
		ask(abi.FuncHTTPRequest, "GET https://a/\n\n"). // its body has 9 bytes
		ask(abi.FuncHTTPRead, 2, room, 64).
		ask(abi.FuncHTTPRead, 2, room, 64).
		ask(abi.FuncHTTPRequest, "GET https://a/\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	a.wants(t, granted(func(c *job.Call) {
		c.HTTP, c.Config.Limits.HTTPBody, c.Config.Limits.HTTPCalls = n, 10, 3
	}), 1, abi.ErrLimit, 10, abi.ErrLimit, abi.ErrLimit, 2, 9, 0, 3, abi.ErrLimit)
}

// A body of just the limit is not too large.
func TestHTTPBodyOfTheLimit(t *testing.T) {
	t.Parallel()
	var a asking
	room := a.room(64)
	a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPRead, 1, room, 64).ask(abi.FuncHTTPRead, 1, room, 64)
	a.wants(t, granted(func(c *job.Call) { c.Config.Limits.HTTPBody = int64(len("hello GET")) }), 1, 9, 0)
}

func TestHTTPAnswersAreClosed(t *testing.T) {
	t.Parallel()
	n := &network{}
	var a asking
	var want []int64
	for i := range maxAnswers {
		a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
		want = append(want, int64(i+1))
	}
	a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPClose, 3).ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	a.wants(t, granted(func(c *job.Call) { c.HTTP = n }), append(want, abi.ErrLimit, 0, maxAnswers+1)...)
	if len(n.bodies) != maxAnswers+1 {
		t.Errorf("%d answers", len(n.bodies))
	}
	for i, b := range n.bodies {
		if !b.closed {
			t.Errorf("answer %d is open", i+1)
		}
	}
	// Also after a trap.
	n = &network{}
	var b asking
	b.end = op(opUnreachable)
	b.ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	_, _, out := b.run(t, granted(func(c *job.Call) { c.HTTP = n }))
	expect(t, out, job.Failure, "unreachable")
	if !n.bodies[0].closed {
		t.Error("the answer is open after a trap")
	}
}

func TestHTTPCountsRedirects(t *testing.T) {
	t.Parallel()
	n := &network{do: func(_ context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
		calls := 1
		for range len(r.URL) - len("https://a/") {
			if err := r.Redirect(); err != nil {
				return nil, fmt.Errorf("follow: %w", err)
			}
			calls++
		}
		return &job.HTTPResponse{Status: 200, Calls: calls}, nil
	}}
	var a asking
	room := a.room(1)
	a.ask(abi.FuncHTTPRequest, "GET https://a/xx\n\n").ask(abi.FuncHTTPRead, 1, room, 1).
		ask(abi.FuncHTTPRequest, "GET https://a/xx\n\n").
		ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	a.wants(t, granted(func(c *job.Call) { c.HTTP, c.Config.Limits.HTTPCalls = n, 5 }), 1, 0, abi.ErrLimit, abi.ErrLimit)
	// A client that does not count calls reports their number afterwards.
	n = &network{do: func(context.Context, job.HTTPRequest) (*job.HTTPResponse, error) {
		return &job.HTTPResponse{Status: 200, Calls: 3}, nil
	}}
	var b asking
	b.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	b.wants(t, granted(func(c *job.Call) { c.HTTP, c.Config.Limits.HTTPCalls = n, 4 }), 1, 2, abi.ErrLimit)
}

// A wait for the network ends when the run should stop.
func TestHTTPWakes(t *testing.T) {
	t.Parallel()
	silent := func(ctx context.Context, _ job.HTTPRequest) (*job.HTTPResponse, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	slow := func(ctx context.Context, _ job.HTTPRequest) (*job.HTTPResponse, error) {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
		return &job.HTTPResponse{Status: 200, Body: r, Calls: 1}, nil
	}
	for _, tt := range []struct {
		name   string
		do     func(context.Context, job.HTTPRequest) (*job.HTTPResponse, error)
		change func(*job.Call)
		want   []int64
		took   time.Duration
	}{
		{"head, deadline", silent, func(c *job.Call) { c.Config.Timeout = 10 * time.Millisecond }, []int64{abi.ErrTimeout, abi.ErrInvalid}, 10 * time.Millisecond},
		{"body, deadline", slow, func(c *job.Call) { c.Config.Timeout = 10 * time.Millisecond }, []int64{1, abi.ErrTimeout}, 10 * time.Millisecond},
		{"head, shutdown", silent, func(c *job.Call) { c.Why = later(70 * time.Millisecond) }, []int64{abi.ErrCancelled, abi.ErrInvalid}, 100 * time.Millisecond},
		{"body, shutdown", slow, func(c *job.Call) { c.Why = later(70 * time.Millisecond) }, []int64{1, abi.ErrCancelled}, 100 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var a asking
			room := a.room(8)
			a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n").ask(abi.FuncHTTPRead, 1, room, 8)
			e, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			m, err := e.Load(t.Context(), a.wasm())
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			out := e.Run(t.Context(), m, granted(func(c *job.Call) {
				c.HTTP, c.Config.Limits.Grace = &network{do: tt.do}, time.Hour
				tt.change(c)
			}))
			if took := time.Since(began).Round(time.Millisecond); took != tt.took {
				t.Errorf("%s: took %s", tt.name, took)
			}
			if len(out.Result) != pageSize {
				t.Fatalf("%s: %+v", tt.name, out)
			}
			for i, want := range tt.want {
				if got := int64(int8(out.Result[answersAt+8*i])); got != want {
					t.Errorf("%s: answer %d: %d, want %d", tt.name, i, got, want)
				}
			}
			m.Close()
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// later returns a reason to stop after a duration.
func later(d time.Duration) func() job.StopReason {
	var at time.Time
	return func() job.StopReason {
		if at.IsZero() {
			at = time.Now()
		}
		if time.Since(at) < d {
			return job.Continue
		}
		return job.StopShutdown
	}
}

func TestHTTPEndsWithTheRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := &network{do: func(ctx context.Context, _ job.HTTPRequest) (*job.HTTPResponse, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	var a asking
	a.end = forever()
	a.ask(abi.FuncHTTPRequest, "GET https://a/\n\n")
	e := newEngine(t)
	expect(t, e.Run(ctx, load(t, e, a.wasm()), granted(func(c *job.Call) { c.HTTP = n })), job.Stopped, "cancelled")
}

func TestParseRequest(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("A: b\n", maxHeaders)
	for text, want := range map[string]string{
		"GET https://a/\n\n":                             "GET https://a/ [] ",
		"GET https://a/?b#c\r\n\r\n":                     "GET https://a/?b#c [] ",
		"PUT https://a\nA:b\nA: \t c \nD:\n\nx\r\n\r\ny": "PUT https://a [{A b} {A c} {D }] x\r\n\r\ny",
		"POST http://[::1]:80/\nx-y_z.0!: ü\"{}\n\n\x00": "POST http://[::1]:80/ [{x-y_z.0! ü\"{}}] \x00",
		"GET https://a/\nA: x: y\n\n":                    "GET https://a/ [{A x: y}] ",
		"GET https://a/\n" + many + "\n":                 "",
		"GET https://a/\n" + many + "A: b\n\n":           "!",
		"":                                               "!",
		"\n\n":                                           "!",
		"GET https://a/":                                 "!",
		"GET https://a/\n":                               "!",
		"GET https://a/\nA: b":                           "!",
		"GET https://a/\nA: b\n":                         "!",
		"GET\n\n":                                        "!",
		"GET \n\n":                                       "!",
		" https://a/\n\n":                                "!",
		"get https://a/\n\n":                             "!",
		"GE\tT https://a/\n\n":                           "!",
		"GET  https://a/\n\n":                            "!",
		"GET https://a/ \n\n":                            "!",
		"GET https://a/ HTTP/1.1\n\n":                    "!",
		"GET https://a/\r\r\n\n":                         "!",
		"GET /a\n\n":                                     "!",
		"GET a\n\n":                                      "!",
		"GET //a/\n\n":                                   "!",
		"GET https:a\n\n":                                "!",
		"GET https:///x\n\n":                             "!",
		"GET https://u@a/\n\n":                           "!",
		"GET https://a:x/\n\n":                           "!",
		"GET https://[::1/\n\n":                          "!",
		"GET https://a/ü\n\n":                            "!",
		"GET https://a/%zz\n\n":                          "!",
		"GET https://a\\b/\n\n":                          "!",
		"GET https://a/\nA\n\n":                          "!",
		"GET https://a/\n: b\n\n":                        "!",
		"GET https://a/\nA : b\n\n":                      "!",
		"GET https://a/\n A: b\n\n":                      "!",
		"GET https://a/\nA: b\n continued\n\n":           "!",
		"GET https://a/\nÄ: b\n\n":                       "!",
		"GET https://a/\nA: b\rB: c\n\n":                 "!",
		"GET https://a/\nA: b\x00\n\n":                   "!",
		"GET https://a/\nA: b\x7f\n\n":                   "!",
		"GET https://a/\nHost: b\n\n":                    "!",
		"GET https://a/\ncontent-length: 0\n\n":          "!",
		"GET https://a/\nTransfer-encoding: chunked\n\n": "!",
		"GET https://a/\nConnection: close\n\n":          "!",
		"GET https://a/\nA: " + strings.Repeat("b", maxRequestHead) + "\n\n":                   "!",
		"GET https://a/\n" + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\n", 90) + "\n\n": "!",
		strings.Repeat("G", 17) + " https://a/\n\n":                                            "!",
	} {
		r, err := parseRequest([]byte(text))
		got := fmt.Sprintf("%s %s %s %s", r.Method, r.URL, r.Header, r.Body)
		switch {
		case want == "!":
			if !errors.Is(err, errRequest) {
				t.Errorf("%.60q: %v, %v", text, r, err)
			}
		case err != nil, want != "" && got != want:
			t.Errorf("%.60q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, s := range []string{"GET https://a/\n\n", "POST http://a:1/b?c\r\nA: {{secret:key}}\r\n\r\nbody", "PUT https://[::1]/\nA:\nB: c\n\n\n", "GET https://a/\nA: b\rC: d\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parseRequest(text)
		if err != nil {
			if !errors.Is(err, errRequest) {
				t.Fatal(err)
			}
			return
		}
		// Written out again it is the same, and it can be parsed in only one way.
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s\r\n", r.Method, r.URL)
		for _, h := range r.Header {
			if strings.ContainsAny(h.Name+h.Value, "\r\n\x00") {
				t.Fatalf("%q", h)
			}
			fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
		}
		again, err := parseRequest([]byte(b.String() + "\r\n" + string(r.Body)))
		if len(b.String()) > maxRequestHead-2 {
			return
		}
		if err != nil || again.Method != r.Method || again.URL != r.URL || !slices.Equal(again.Header, r.Header) || string(again.Body) != string(r.Body) {
			t.Fatalf("%q: %+v, then %+v, %v", text, r, again, err)
		}
	})
}
