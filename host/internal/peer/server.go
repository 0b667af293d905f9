package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// ModuleReader has the modules that other servers may have.
type ModuleReader interface {
	// Open gives the bytes of a module and how many they are. Any error means
	// that there is none for others.
	Open(digest string) (io.ReadCloser, int64, error)
}

// Bounds of a server. Each of them is generous to an honest peer: a module is
// asked for once by each server.
const (
	maxConnections  = 64
	maxTransfers    = 8 // modules at once
	maxHead         = 8 << 10
	headTimeout     = 10 * time.Second
	transferTimeout = 2 * time.Minute
	idleTimeout     = 30 * time.Second
	shutdownTimeout = time.Second
)

// ServerOptions say what a Server does.
type ServerOptions struct {
	Address string // as others reach it, host and port: it is part of what they sign
	Token   string // that all servers share; empty: whoever reaches the address may ask
	Modules ModuleReader
	// Store takes modules that operators bring, of at most Limit bytes. Nobody can
	// bring any if it is nil, or if there is no token.
	Store Store
	Limit int64
	Log   *slog.Logger // nil discards
}

// Server gives modules to others, and takes them from operators.
type Server struct {
	o         ServerOptions
	transfers chan struct{} // one for each module that is on its way
}

// NewServer makes one; nothing starts before Serve.
func NewServer(o ServerOptions) *Server {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{o: o, transfers: make(chan struct{}, maxTransfers)}
}

// Listen opens the address on which modules are given. Without a token it must
// be one of this machine's own, which no other machine reaches: the code of jobs
// is nobody else's business.
func Listen(ctx context.Context, address, token string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for other servers: %w", err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); token == "" && (err != nil || !at.Addr().Unmap().IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("listen for other servers: %s can be reached from other machines, and there is no token", address), l.Close())
	}
	return l, nil
}

// Serve answers until ctx ends, and closes l. Nothing that it started is left
// when it returns.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, MaxHeaderBytes: maxHead, ReadHeaderTimeout: headTimeout, ReadTimeout: headTimeout,
		WriteTimeout: transferTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	}
	l = &limitedListener{Listener: l, slots: make(chan struct{}, maxConnections), done: ctx.Done()}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(shutdownCtx) // that somebody is cut off is no fault: it asks another
		err = <-served
	}
	err = errors.Join(err, server.Close())
	for range cap(s.transfers) { // those that have not noticed yet
		s.transfers <- struct{}{}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("give modules to other servers: %w", err)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest, ok := digestOf(r.URL.Path)
	switch {
	case !ok || r.URL.RawQuery != "":
		refuse(w, http.StatusNotFound, "there is nothing but /modules/{sha256}")
		return
	case r.Method == http.MethodPut && (s.o.Store == nil || s.o.Token == ""):
		refuse(w, http.StatusMethodNotAllowed, "modules can only be read here: this server has no token")
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		refuse(w, http.StatusMethodNotAllowed, "modules can be read and brought")
		return
	case s.o.Token != "" && !verify(r.Header.Get("Authorization"), s.o.Token, schemeOf(r.Method), s.o.Address, digest, time.Now()):
		refuse(w, http.StatusForbidden, "the request is not signed with the token of these servers for "+s.o.Address+", or the clocks differ by minutes")
		return
	}
	if s.o.Token != "" {
		w.Header().Set(proofHeader, proofOf(s.o.Token, r.Header.Get("Authorization")))
	}
	select {
	case s.transfers <- struct{}{}:
		defer func() { <-s.transfers }()
	default:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "too many modules are on their way")
		return
	}
	if r.Method == http.MethodPut {
		s.receive(w, r, digest)
		return
	}
	s.send(w, r, digest)
}

// receive keeps a module that an operator brings. It runs nowhere by that: which
// module a job has is in the registry.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, digest string) {
	if r.ContentLength > s.o.Limit {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the limit is %d bytes", s.o.Limit))
		return
	}
	// Until here whoever sends has had as long as a head needs.
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(transferTimeout)); err != nil {
		refuse(w, http.StatusInternalServerError, "it cannot be read")
		return
	}
	switch err := s.o.Store.PutAs(r.Body, digest, s.o.Limit); {
	case errors.Is(err, module.ErrPin):
		refuse(w, http.StatusUnprocessableEntity, "it does not have the sha256 that was signed")
	case errors.Is(err, module.ErrTooBig):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the limit is %d bytes", s.o.Limit))
	case err != nil:
		s.o.Log.Warn("a module that was brought could not be kept", "module", digest, "peer", r.RemoteAddr, "error", err)
		refuse(w, http.StatusInternalServerError, "it could not be kept, see this server's log")
	default:
		s.o.Log.Info("module brought by an operator", "module", digest, "peer", r.RemoteAddr, "bytes", r.ContentLength)
		w.WriteHeader(http.StatusNoContent)
	}
}

func (s *Server) send(w http.ResponseWriter, r *http.Request, digest string) {
	body, size, err := s.o.Modules.Open(digest)
	if err != nil {
		refuse(w, http.StatusNotFound, "this server does not have the module")
		return
	}
	defer func() {
		if err := body.Close(); err != nil {
			s.o.Log.Warn("a module was not closed", "module", digest, "error", err)
		}
	}()
	h := w.Header()
	h.Set("Content-Type", "application/wasm")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, body); err != nil {
		s.o.Log.Debug("a server did not take the whole module", "module", digest, "peer", r.RemoteAddr, "error", err)
		return
	}
	s.o.Log.Info("module given to another server", "module", digest, "peer", r.RemoteAddr, "bytes", size)
}

func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // whoever does not read it does not want it
}

// limitedListener accepts no more connections than it has slots; the others wait in the
// kernel.
type limitedListener struct {
	net.Listener
	slots chan struct{}
	done  <-chan struct{}
}

// Accept implements net.Listener.
func (b *limitedListener) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.slots
		return nil, err //nolint:wrapcheck // net/http judges it by its type
	}
	return &slotConn{Conn: c, slots: b.slots}, nil
}
