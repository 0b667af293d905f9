package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/internal/connections"
)

// Limits of a server. A client that exceeds one is cut off; jobs never wait for a
// client.
const (
	maxRequests = 16 // concurrent requests
	maxHead     = 8 << 10
	headTimeout = 5 * time.Second
	readTimeout = 10 * time.Second // for head and body
	// workTimeout limits the work for one request; writeTimeout also includes the
	// time in which the client takes the answer.
	workTimeout  = 30 * time.Second
	writeTimeout = 45 * time.Second
	idleTimeout  = 30 * time.Second
	noteTimeout  = 5 * time.Second // for a row of the audit
	// shutdownTimeout is how long requests may continue when the server stops.
	shutdownTimeout = 2 * time.Second
)

// Serve answers requests on l with h until ctx ends, and closes l. When it returns,
// all its goroutines have ended. It refuses a handler that requires no tokens if other
// users can connect to l.
func Serve(ctx context.Context, l net.Listener, h *Handler) error {
	if _, ok := l.Addr().(*net.UnixAddr); !ok && h.o.Authenticate == nil {
		return errors.Join(fmt.Errorf("answer operators at %s: callers need tokens there", l.Addr()), l.Close())
	}
	within, cut := context.WithCancel(context.WithoutCancel(ctx)) // requests may continue for shutdownTimeout
	defer cut()
	places, probes, relayed := make(chan struct{}, maxRequests), make(chan struct{}, connections.Most), make(chan struct{}, maxRelayed)
	server := &http.Server{
		Handler:        aheadHandler{h, connections.Handler(&limitedHandler{h: h, places: places, probes: probes, relayed: relayed, here: isLoopback(l.Addr())})},
		BaseContext:    func(net.Listener) context.Context { return context.WithValue(within, endedKey{}, ctx.Done()) },
		MaxHeaderBytes: maxHead, ReadHeaderTimeout: headTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ConnContext: connections.Context, ErrorLog: slog.NewLogLogger(h.o.Log.Handler(), slog.LevelWarn), DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(connections.New(l, ctx.Done()))
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		shutdownCtx, cancel := context.WithTimeout(within, shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(shutdownCtx) // requests that take longer are cut off
		err = <-ended
	}
	cut()
	err = errors.Join(err, server.Close())
	for _, all := range []chan struct{}{places, probes, relayed} {
		for range cap(all) { // takes all places, and so waits for requests that have not ended yet
			all <- struct{}{}
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("answer operators: %w", err)
}

// limitedHandler limits the requests of a Handler in number and time.
type limitedHandler struct {
	h      *Handler
	places chan struct{}
	// probes has places for requests of open routes, one for each connection: a probe has
	// to get an answer while all other requests wait for a registry.
	probes chan struct{}
	// relayed has places for streams to other servers, each of which is held as long as its stream.
	relayed chan struct{}
	here    bool // only this machine connects
}

// ServeHTTP implements http.Handler. It passes a request on with a limit of its time, or refuses it if too many are
// being answered. Probes and streams of other servers have places of their own.
func (b *limitedHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if b.here && !isHere(r.Host) { // a page may have made its own name resolve to this machine
		setHeaders(w.Header())
		b.h.fail(w, r, refuse(http.StatusMisdirectedRequest, codeWrongHost, fmt.Sprintf("%.128q is not the name of this server; use 127.0.0.1 or localhost", r.Host)))
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeFor(r))
	defer cancel()
	places := b.places
	switch {
	case isOpen(r.URL.Path):
		places = b.probes
	case isStream(r.URL.Path) && strings.HasPrefix(r.Header.Get("Authorization"), signedScheme):
		places = b.relayed
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	default:
		setHeaders(w.Header())
		b.h.fail(w, r, refuse(http.StatusServiceUnavailable, codeBusy, fmt.Sprintf("the server already answers %d requests; try again", cap(places))))
		return
	}
	b.h.ServeHTTP(w, r.WithContext(ctx))
}

// isStream reports whether a path is that of a stream, of events or of a log.
func isStream(path string) bool {
	return path == eventsPath || strings.HasPrefix(path, runsPath) && strings.HasSuffix(path, followedLog)
}

// timeFor limits the work for a request. An upload has to arrive first, and to be
// examined.
func timeFor(r *http.Request) time.Duration {
	if r.Method == http.MethodPost && r.URL.Path == modulesPath {
		return uploadTimeout + examiningTimeout
	}
	return workTimeout
}
