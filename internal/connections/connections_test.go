package connections

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipes is a listener without a network, for virtual time.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
	end   func()
}

func newPipes() *pipes {
	p := &pipes{calls: make(chan net.Conn), done: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.done) })
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
	p.end()
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

// end is one end of a connection from an address.
type end struct {
	net.Conn
	from string
}

func (e end) RemoteAddr() net.Addr {
	a, _ := net.ResolveTCPAddr("tcp", e.from)
	return a
}

// call opens a connection from an address, and sends text. gone is closed when the server
// has closed it; said collects its answer until then.
func (p *pipes) call(t *testing.T, from, text string) (gone <-chan struct{}, said *strings.Builder) {
	here, there := net.Pipe()
	p.calls <- end{there, from}
	t.Cleanup(func() { _ = here.Close() })
	over := make(chan struct{})
	said = new(strings.Builder)
	go func() {
		defer close(over)
		_, _ = io.Copy(said, here)
	}()
	if _, err := io.WriteString(here, text); err != nil {
		t.Error(err)
	}
	return over, said
}

func isOver(gone <-chan struct{}) bool {
	select {
	case <-gone:
		return true
	default:
		return false
	}
}

const (
	request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	last    = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
)

// serve answers at pipes in virtual time. stop returns when everything has ended.
func serve(h http.HandlerFunc) (p *pipes, stop func()) {
	p = newPipes()
	done, served := make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: Handler(h), ConnContext: Context, ReadTimeout: time.Minute}
	go func() {
		_ = s.Serve(New(p, done))
		close(served)
	}()
	return p, func() {
		close(done)
		_ = s.Close()
		<-served
		<-time.After(time.Second) // net/http waits half a second for what clients still send
	}
}

// An address with many connections loses its own, not an older one of another address.
func TestAddressWithTheMostGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, stop := serve(func(http.ResponseWriter, *http.Request) {})
		defer stop()
		quiet, _ := p.call(t, "10.0.0.1:1", "")
		synctest.Wait()
		var flood []<-chan struct{}
		for range 3 * Most {
			gone, _ := p.call(t, "10.0.0.2:1", "")
			synctest.Wait()
			flood = append(flood, gone)
		}
		if isOver(quiet) {
			t.Error("the connection of another address gave way")
		}
		for i, gone := range flood {
			if over := i <= 2*Most; isOver(gone) != over {
				t.Errorf("connection %d gave way: %v, want %v", i, !over, over)
			}
		}
	})
}

// A connection that sends its request at once is answered, however many come after it:
// new connections are not closed.
func TestThoseWhoAskAtOnceAreAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := New(newPipes(), t.Context().Done())
		calls := l.Listener.(*pipes)
		accepted := make(chan *conn, Most+1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				accepted <- c.(*conn)
			}
		}()
		at := time.Now()
		for range Most + 1 {
			_, there := net.Pipe()
			calls.calls <- there
		}
		synctest.Wait()
		first := <-accepted
		if len(accepted) != Most-1 || !l.work(first) {
			t.Fatal("a connection gave way that has just come")
		}
		l.rest(first)
		time.Sleep(grace)
		synctest.Wait()
		if len(accepted) != Most || time.Since(at) != grace {
			t.Errorf("after %s, %d connections came", time.Since(at), len(accepted))
		}
		for range Most {
			_ = (<-accepted).Close()
		}
		_ = first.Close()
		_ = calls.Close()
		if len(l.places) != 0 || len(l.waits) != 0 || len(l.of) != 0 {
			t.Errorf("%d places are taken, %d connections wait, of %d addresses", len(l.places), len(l.waits), len(l.of))
		}
	})
}

// A connection works while a handler runs. It can be closed when the rest of a body does
// not come, or the client does not read the answer.
func TestAnsweredConnectionsGiveWay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{",
		request,
	} {
		synctest.Test(t, func(t *testing.T) {
			p, stop := serve(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })
			defer stop()
			at := time.Now()
			for range Most {
				here, there := net.Pipe()
				defer here.Close()
				p.calls <- there
				if _, err := io.WriteString(here, text); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
			gone, said := p.call(t, "10.0.0.1:1", last)
			<-gone
			if !strings.HasSuffix(said.String(), "hello") || time.Since(at) > time.Second {
				t.Errorf("after %s it is answered %s", time.Since(at), said)
			}
		})
	}
}

// While all connections have a request, the next one waits until one of them has its
// answer.
func TestNoWorkGivesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer, begun := make(chan struct{}), make(chan struct{}, Most+1)
		p, stop := serve(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-answer
		})
		defer stop()
		defer close(answer)
		for range Most {
			p.call(t, "10.0.0.1:1", request)
		}
		synctest.Wait()
		go p.call(t, "10.0.0.2:1", request)
		time.Sleep(time.Hour)
		if len(begun) != Most {
			t.Errorf("%d requests have begun", len(begun))
		}
		answer <- struct{}{}
		time.Sleep(grace)
		synctest.Wait()
		if len(begun) != Most+1 {
			t.Errorf("%d requests have begun after an answer", len(begun))
		}
	})
}

// A connection that is closed while it works leaves nothing behind.
func TestClosedAtWork(t *testing.T) {
	t.Parallel()
	l := New(newPipes(), t.Context().Done())
	c := &conn{of: l}
	l.add(c)
	l.work(c)
	l.remove(c)
	l.rest(c)
	if len(l.waits) != 0 || len(l.of) != 0 {
		t.Errorf("%d connections wait, of %d addresses", len(l.waits), len(l.of))
	}
}
