package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// Bounds of a server. A client that exceeds one is cut off; jobs never wait for a
// client.
const (
	maxConnections = 64
	maxRequests    = 16 // concurrent requests
	maxHead        = 8 << 10
	headTimeout    = 5 * time.Second
	readTimeout    = 10 * time.Second // for head and body
	// answerTimeout bounds the work for one request; writeTimeout bounds that and
	// the time in which the client takes the answer.
	answerTimeout = 30 * time.Second
	writeTimeout  = 45 * time.Second
	idleTimeout   = 30 * time.Second
	// shutTimeout is how long requests may go on when the server ends.
	shutTimeout = 2 * time.Second
)

// Serve answers requests on l with h until ctx ends, and closes l. When it returns,
// all its goroutines have ended.
func Serve(ctx context.Context, l net.Listener, h *Handler) error {
	within, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	places := make(chan struct{}, maxRequests)
	server := &http.Server{
		Handler: &bounds{h: h, places: places}, BaseContext: func(net.Listener) context.Context { return within },
		MaxHeaderBytes: maxHead, ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(h.o.Log.Handler(), slog.LevelWarn), DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(&bounded{Listener: l, places: make(chan struct{}, maxConnections), done: ctx.Done()})
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		patience, cancel := context.WithTimeout(within, shutTimeout)
		defer cancel()
		_ = server.Shutdown(patience) // requests that take longer are cut off
		err = <-ended
	}
	cut()
	err = errors.Join(err, server.Close())
	for range cap(places) { // requests that have not noticed yet
		places <- struct{}{}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("answer operators: %w", err)
}

// bounds holds a Handler's requests within what one server allows.
type bounds struct {
	h      *Handler
	places chan struct{}
}

// ServeHTTP implements http.Handler.
func (b *bounds) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	select {
	case b.places <- struct{}{}:
		defer func() { <-b.places }()
	default:
		b.h.fail(w, r, refuse(http.StatusServiceUnavailable, codeBusy, fmt.Sprintf("the server answers %d requests already; ask again", maxRequests)))
		return
	}
	b.h.ServeHTTP(w, r.WithContext(ctx))
}

// bounded accepts no more connections than it has places; the others wait in the
// kernel.
type bounded struct {
	net.Listener
	places chan struct{}
	done   <-chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.places <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err //nolint:wrapcheck // net/http distinguishes errors by their type
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// placed releases its place when it is closed.
type placed struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *placed) Close() error {
	c.leave()
	return c.Conn.Close() //nolint:wrapcheck // implements the connection
}
