package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/internal/connections"
)

// pipes is a listener without a network, for virtual time.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
	close func()
}

func newPipes() *pipes {
	p := &pipes{calls: make(chan net.Conn), done: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.done) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// call opens a connection.
func (p *pipes) call() net.Conn {
	here, there := net.Pipe()
	p.calls <- there
	return here
}

// serveWith is served with a handler that requires no tokens.
func serveWith(t *testing.T, operate func(context.Context) (*operator.Operator, error)) (p *pipes, stop func()) {
	t.Helper()
	return served(t, NewHandler(Options{Operate: operate}))
}

// served serves until stop is called, which returns when Serve has ended.
func served(t *testing.T, h *Handler) (p *pipes, stop func()) {
	t.Helper()
	p = newPipes()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := Serve(ctx, p, h); err != nil {
			t.Error(err)
		}
	})
	return p, func() {
		cancel()
		serving.Wait()
	}
}

func onMemory(ctx context.Context) (*operator.Operator, error) {
	return operator.Open(ctx, embedded.Memory(), "wasmjobd")
}

// A client that sends nothing, or sends too slowly, is cut off.
func TestSlowRequestsAreCutOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says string
		answer     string
		within     time.Duration
	}{
		{"nothing", "", "", headTimeout},
		{"half a head", "GET /api/v1/jobs HTTP/1.1\r\nHost:", "", headTimeout},
		{"half a body", "POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{", "408 Request Timeout", readTimeout},
		{"nothing more", "GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", idleTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, stop := serveWith(t, onMemory)
				defer stop()
				c, begun := p.call(), time.Now()
				if _, err := io.WriteString(c, tt.says); err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(c) // ends when the server closes the connection
				if took := time.Since(begun); err != nil || took > tt.within+time.Second || !strings.Contains(string(text), tt.answer) {
					t.Errorf("after %s: %v, %s", took, err, text)
				}
			})
		})
	}
}

// A client that does not read the answer, or reads it too slowly, is cut off.
func TestSlowReadersAreCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := serveWith(t, onMemory)
		c, begun := p.call(), time.Now()
		if _, err := io.WriteString(c, "GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil { // the answer has begun
			t.Fatal(err)
		}
		time.Sleep(writeTimeout)
		synctest.Wait()
		if _, err := c.Write([]byte("G")); err == nil {
			t.Errorf("after %s the connection is open", time.Since(begun))
		}
		stop()
	})
}

func TestLargeRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, says, answer string }{
		{"head", "GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431 Request Header Fields Too Large"},
		{"body", "POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n" + strings.Repeat(" ", maxBody+1), `"code":"too_large"`},
		{"body without a length", "POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("1000\r\n"+strings.Repeat(" ", 4096)+"\r\n", maxBody/4096+1), `"code":"too_large"`},
		{"packed body", "POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", `"code":"unsupported_media_type"`},
		{"no HTTP", "dump\r\n\r\n", "400 Bad Request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, stop := serveWith(t, onMemory)
				defer stop()
				c := p.call()
				go func() { _, _ = io.WriteString(c, tt.says) }() // the connection may be cut meanwhile
				if text, _ := io.ReadAll(c); !strings.Contains(string(text), tt.answer) {
					t.Errorf("answered %s, want %s", text, tt.answer)
				}
			})
		})
	}
}

// Above the limit of concurrent requests, the next one is refused at once. A request that
// takes too long is aborted, and none is left when Serve returns.
func TestRequestsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var under sync.WaitGroup
		begun := make(chan struct{}, maxRequests)
		p, stop := serveWith(t, func(ctx context.Context) (*operator.Operator, error) {
			under.Add(1)
			defer under.Done()
			begun <- struct{}{}
			<-ctx.Done()
			return nil, fmt.Errorf("hang: %w", ctx.Err())
		})
		askAt := func(path string) *bufio.Reader {
			c := p.call()
			if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Error(err)
			}
			return bufio.NewReader(c)
		}
		ask := func() *bufio.Reader { return askAt("/api/v1/jobs") }
		answer := func(r *bufio.Reader) (int, string) {
			a, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(a.Body)
			if err := errors.Join(err, a.Body.Close()); err != nil {
				t.Error(err)
			}
			return a.StatusCode, string(text) + a.Header.Get("Retry-After")
		}
		var asked []*bufio.Reader
		for range maxRequests {
			asked = append(asked, ask())
			<-begun
		}
		at := time.Now()
		if status, text := answer(ask()); status != http.StatusServiceUnavailable || !strings.Contains(text, `"code":"busy"`) || !strings.HasSuffix(text, "1") || time.Since(at) > 0 {
			t.Errorf("after %s: %d %s", time.Since(at), status, text)
		}
		if status, text := answer(askAt(healthPath)); status != http.StatusOK { // a probe is answered nevertheless
			t.Errorf("a probe is answered %d %s", status, text)
		}
		for _, r := range asked {
			if status, text := answer(r); status != http.StatusServiceUnavailable || !strings.Contains(text, `"code":"unavailable"`) || time.Since(at) != workTimeout {
				t.Errorf("after %s: %d %s", time.Since(at), status, text)
			}
		}

		// Two hang while the server stops.
		ask()
		<-begun
		ask()
		<-begun
		at = time.Now()
		stop()
		if took := time.Since(at); took > shutdownTimeout {
			t.Errorf("it ended after %s", took)
		}
		under.Wait()
	})
}

// At the limit of connections, the one that has been without a complete request for the
// longest time is closed, even if a request has begun to arrive.
func TestConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := serveWith(t, onMemory)
		at := time.Now()
		ended := make(chan int, connections.Most+2)
		hold := func(i int, says string) {
			c := p.call()
			if _, err := io.WriteString(c, says); err != nil {
				t.Error(err)
			}
			go func() {
				_, _ = io.Copy(io.Discard, c)
				ended <- i
			}()
			synctest.Wait() // they arrive in order
		}
		hold(0, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") // and waits after its answer
		hold(1, "GET")
		for i := range connections.Most - 2 {
			hold(i+2, "")
		}
		for want := range 3 {
			c := p.call()
			if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if text, err := io.ReadAll(c); err != nil || !strings.Contains(string(text), "200 OK") || time.Since(at) > time.Second {
				t.Errorf("after %s it is answered %s: %v", time.Since(at), text, err)
			}
			if got := <-ended; got != want {
				t.Errorf("connection %d gave way, not %d", got, want)
			}
			hold(connections.Most+want, "")
		}
		stop()
	})
}

// A body that does not arrive takes neither the place of a connection nor of a request.
func TestBodiesThatDoNotCome(t *testing.T) {
	t.Parallel()
	for _, head := range []string{
		"POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n",
		"POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/wasm\r\n",
		"POST /api/v1/jobs/a:pause HTTP/1.1\r\nHost: x\r\nContent-Type: application/wasm\r\nAuthorization: " + signedScheme + "x\r\n",
		"GET /healthz HTTP/1.1\r\nHost: x\r\n",
		"GET /api/v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Type: application/wasm\r\n",
	} {
		for _, n := range []int{maxRequests, connections.Most} {
			t.Run(fmt.Sprint(n, " of ", head), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, stop := serveWith(t, onMemory)
					defer stop()
					at := time.Now()
					for range n {
						c := p.call()
						defer c.Close()
						if _, err := io.WriteString(c, head+"Content-Length: 100000\r\n\r\n{"); err != nil {
							t.Fatal(err)
						}
						go func() { _, _ = io.Copy(io.Discard, c) }()
					}
					synctest.Wait()
					c := p.call()
					if _, err := io.WriteString(c, "GET /api/v1/jobs/a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
						t.Fatal(err)
					}
					if text, err := io.ReadAll(c); err != nil || !strings.Contains(string(text), "404 Not Found") || time.Since(at) > time.Second {
						t.Errorf("after %s it is answered %s: %v", time.Since(at), text, err)
					}
				})
			})
		}
	}
}

// A client that stops reading does not delay jobs.
func TestJobsRunWhileClientsHang(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	for range maxRequests + 3 {
		c, err := net.Dial("unix", s.data+"/"+socketDir+"/"+socketName)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, strings.Repeat("GET /api/v1/jobs/report/dump HTTP/1.1\r\nHost: x\r\n\r\n", 2000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.host.Trigger(t.Context(), "report"); err != nil {
		t.Fatal(err)
	}
	<-s.ran
	s.stop()
}
