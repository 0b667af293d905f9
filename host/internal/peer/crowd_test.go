package peer

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/internal/connections"
)

// pipes is a listener without a network, for virtual time.
type pipes struct {
	net.Listener
	calls chan net.Conn
	done  chan struct{}
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
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

// Connections without a token do not keep other servers out: neither silent ones, nor
// those that announce a body and do not send it.
func TestCrowdKeepsNobodyOut(t *testing.T) {
	t.Parallel()
	s := newStore(t, "hello")
	path := modulesPath + module.Digest([]byte("hello"))
	for _, says := range []string{"", "GET", "PUT " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithCancel(context.Background())
			p, served := &pipes{calls: make(chan net.Conn), done: make(chan struct{})}, make(chan error)
			go func() {
				served <- NewServer(ServerOptions{Address: "x", Token: "secret", Modules: s, Store: s, Limit: limit}).Serve(ctx, p)
			}()
			at := time.Now()
			ask := func(text string) net.Conn {
				here, there := net.Pipe()
				p.calls <- there
				if _, err := io.WriteString(here, text); err != nil {
					t.Error(err)
				}
				return here
			}
			for range connections.Most {
				c := ask(says)
				defer c.Close()
				go func() { _, _ = io.Copy(io.Discard, c) }()
			}
			synctest.Wait()
			digest := strings.TrimPrefix(path, modulesPath)
			c := ask("GET " + path + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " + sign("secret", schemeOf(http.MethodGet), "x", digest, time.Now()) + "\r\n\r\n")
			if text, err := io.ReadAll(c); err != nil || !strings.HasSuffix(string(text), "hello") || time.Since(at) > time.Second {
				t.Errorf("%q: after %s it is answered %s: %v", says, time.Since(at), text, err)
			}
			stop()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
	}
}
