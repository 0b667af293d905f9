package peer

import (
	"cmp"
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
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/internal/connections"
)

// ModuleReader opens the modules that other servers may read.
type ModuleReader interface {
	// Open returns the bytes of a module and their number. Any error means that
	// other servers cannot have the module.
	Open(digest string) (io.ReadCloser, int64, error)
	// Signature returns the text of a module's signature, or nil if there is none.
	Signature(digest string) ([]byte, error)
}

// Limits of a server. Each leaves room for every well-behaved peer, since a server
// fetches a module once.
const (
	maxTransfers    = 8 // at the same time
	maxHead         = 8 << 10
	headTimeout     = 10 * time.Second
	transferTimeout = 2 * time.Minute
	idleTimeout     = 30 * time.Second
	shutdownTimeout = time.Second
)

// ServerOptions are the settings of a Server.
type ServerOptions struct {
	Address string // host and port under which other servers reach this one; part of signatures
	Token   string // shared by all servers; "": requests need no signature
	Modules ModuleReader
	// Store keeps modules that operators upload, each of at most Limit bytes.
	// Without a Store or a Token the server accepts no uploads.
	Store Store
	Limit int64
	Log   *slog.Logger // nil discards
}

// Server sends modules to other servers, and receives modules from operators.
type Server struct {
	o         ServerOptions
	transfers chan struct{} // one slot for each transfer in progress
}

// NewServer returns a Server. It is idle until Serve is called.
func NewServer(o ServerOptions) *Server {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Server{o: o, transfers: make(chan struct{}, maxTransfers)}
}

// Listen listens on the address from which modules are served. Without a token the
// address must be a loopback address, because the code of jobs is confidential.
func Listen(ctx context.Context, address, token string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for peers: %w", err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); token == "" && (err != nil || !at.Addr().Unmap().IsLoopback()) {
		return nil, errors.Join(fmt.Errorf("listen for peers: other machines can reach %s; set a token, or listen on a loopback address", address), l.Close())
	}
	return l, nil
}

// Serve answers requests until ctx ends, and closes l. All its goroutines have ended
// when it returns.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: connections.Handler(s), ConnContext: connections.Context, MaxHeaderBytes: maxHead, ReadHeaderTimeout: headTimeout, ReadTimeout: headTimeout,
		WriteTimeout: transferTimeout, IdleTimeout: idleTimeout, ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(connections.New(l, ctx.Done())) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		shutdownCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		_ = server.Shutdown(shutdownCtx) // an interrupted client fetches from another server
		err = <-served
	}
	err = errors.Join(err, server.Close())
	for range cap(s.transfers) { // wait for the transfers in progress
		s.transfers <- struct{}{}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("serve modules to peers: %w", err)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	digest, ok := digestOf(r.URL.Path)
	switch {
	case !ok || r.URL.RawQuery != "":
		refuse(w, http.StatusNotFound, "not found; the only path is /modules/{sha256}")
		return
	case r.Method == http.MethodPut && (s.o.Store == nil || s.o.Token == ""):
		refuse(w, http.StatusMethodNotAllowed, "this server accepts no uploads, since it has no token")
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPut:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		refuse(w, http.StatusMethodNotAllowed, "use GET, HEAD or PUT")
		return
	case s.o.Token != "" && !verify(r.Header.Get("Authorization"), s.o.Token, schemeOf(r.Method), s.o.Address, digest, time.Now()):
		refuse(w, http.StatusForbidden, "the signature is not valid for "+s.o.Address+": check the token of both servers and their clocks")
		return
	}
	if s.o.Token != "" { // the proof for authenticate
		w.Header().Set(proofHeader, proofOf(s.o.Token, r.Header.Get("Authorization")))
	}
	select {
	case s.transfers <- struct{}{}:
		defer func() { <-s.transfers }()
	default:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, "too many transfers in progress; try again")
		return
	}
	if r.Method == http.MethodPut {
		s.receive(w, r, digest)
		return
	}
	s.send(w, r, digest)
}

// receive stores a module that an operator uploads. Storing it runs nothing: the
// registry decides which module a job uses.
func (s *Server) receive(w http.ResponseWriter, r *http.Request, digest string) {
	if r.ContentLength > s.o.Limit {
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the module is too big; the limit is %d bytes", s.o.Limit))
		return
	}
	sign, err := signatureIn(r.Header)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if err := s.o.Store.Admit(digest, sign); err != nil { // before the bytes are read
		s.refuseModule(w, r, digest, err)
		return
	}
	// Until here the read deadline of the request's head applied.
	if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(transferTimeout)); err != nil {
		refuse(w, http.StatusInternalServerError, "the request cannot be read")
		return
	}
	if err := s.o.Store.PutAs(r.Body, digest, sign, s.o.Limit); err != nil {
		s.refuseModule(w, r, digest, err)
		return
	}
	s.o.Log.Info("module uploaded by an operator", "module", digest, "peer", r.RemoteAddr, "bytes", r.ContentLength)
	w.WriteHeader(http.StatusNoContent)
}

// refuseModule answers with the reason why a module is not stored.
func (s *Server) refuseModule(w http.ResponseWriter, r *http.Request, digest string, err error) {
	switch {
	case errors.Is(err, signature.ErrUnsigned), errors.Is(err, signature.ErrText):
		refuse(w, http.StatusUnprocessableEntity, err.Error())
	case errors.Is(err, module.ErrSigned):
		refuse(w, http.StatusConflict, err.Error())
	case errors.Is(err, module.ErrPin):
		refuse(w, http.StatusUnprocessableEntity, "the module does not have the signed sha256")
	case errors.Is(err, module.ErrTooBig):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the module is too big; the limit is %d bytes", s.o.Limit))
	default:
		s.o.Log.Warn("cannot store an uploaded module", "module", digest, "peer", r.RemoteAddr, "error", err)
		refuse(w, http.StatusInternalServerError, "the module could not be stored; see this server's log")
	}
}

// send answers a GET or HEAD request for a module.
func (s *Server) send(w http.ResponseWriter, r *http.Request, digest string) {
	body, size, err := s.o.Modules.Open(digest)
	if err != nil {
		refuse(w, http.StatusNotFound, "this server does not have the module")
		return
	}
	defer func() {
		if err := body.Close(); err != nil {
			s.o.Log.Warn("cannot close a module", "module", digest, "error", err)
		}
	}()
	sign, err := s.o.Modules.Signature(digest)
	if err != nil {
		s.o.Log.Warn("a module is sent without its signature", "module", digest, "error", err)
	}
	h := w.Header()
	setSignature(h, sign)
	h.Set("Content-Type", "application/wasm")
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := io.Copy(w, body); err != nil {
		s.o.Log.Debug("module was not sent completely", "module", digest, "peer", r.RemoteAddr, "error", err)
		return
	}
	s.o.Log.Info("module sent to another server", "module", digest, "peer", r.RemoteAddr, "bytes", size)
}

// refuse answers a request with an error.
func refuse(w http.ResponseWriter, status int, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") //nolint:gosec // it is plain text; the client may be gone
}
