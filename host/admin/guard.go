package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/connections"
)

// Authenticate returns the caller that a token belongs to. An error of the code Denied
// means that the token is wrong, has expired or was revoked. Any other error means that it
// cannot be checked now; the caller is then the one it last belonged to, if that is known.
type Authenticate func(ctx context.Context, token string) (operator.Caller, error)

// Rate limits of callers. Normal work stays below them.
const (
	callerBurst     = 200
	callerPerSecond = 50
	// failureBurst wrong tokens are answered at once, and then failurePerSecond of
	// them. A token is too long to be guessed: the limit only saves work and lines of the
	// log. It also holds for sign-ins of browsers, since each writes to the registry.
	failureBurst     = 10
	failurePerSecond = 0.2
	// maxToken is the limit of a token, in bytes.
	maxToken = 512
)

// requestIDHeader names a request in answers, logs and the audit.
const requestIDHeader = "X-Request-Id"

// socketUser is the caller where no token is required. If the system reports the user at
// the other end, the caller has that user's name.
var socketUser = operator.Caller{Name: "user of the server", Role: operator.RoleAdmin} // read only

// visitorKey is the key of a visitor in a context.
type visitorKey struct{}

// admit returns the sender of a request, or refuses the request before anything is read
// for it. A request for an open route needs no token; its sender then has no role.
func (h *Handler) admit(r *http.Request) (visitor, error) {
	from, now := connections.Address(r.RemoteAddr), time.Now()
	if err := h.crossSite.Check(r); err != nil {
		return visitor{}, h.unnamed(from, now, refuse(http.StatusForbidden, codeCrossSite, "a page of another site sent this request: only programs, and pages of this server, may change something"))
	}
	if h.o.Authenticate == nil {
		v := visitor{Caller: socketUser, way: operator.BySocket}
		v.Name = cmp.Or(peerOf(connections.Of(r)), v.Name)
		return v, nil
	}
	if r.URL.Path == healthPath { // a probe with an expired token must not cause a restart
		return visitor{}, h.unnamed(from, now, nil)
	}
	v, err := h.identify(r)
	if e, ok := errors.AsType[*host.Error](err); ok && e.Code == host.Unavailable {
		v, err = unchecked(r, v, err)
	}
	if e, ok := errors.AsType[*host.Error](err); ok && e.Code == host.Denied {
		err = unauthenticated(e.Error())
	}
	if p, ok := errors.AsType[*problem](err); ok && p.Code == codeUnauthenticated {
		if wait := h.failures.take(from, now); wait > 0 {
			return v, tooMany("requests without a right token come from this address", wait)
		}
		return v, err
	}
	if err != nil || v.way == "" { // no caller is known: err says why, or the route is open
		return v, h.unnamed(from, now, err)
	}
	of := h.callers
	if v.way == operator.ByServer {
		of = h.servers
	}
	if wait := of.take(v.key(), now); wait > 0 {
		return v, tooMany("requests come from this caller", wait)
	}
	return v, nil
}

// unchecked returns the sender of a request whose token cannot be checked now. Probes are
// answered all the same. So are metrics, to who had the token last, since monitoring has to
// see that the registry is away. Other requests are refused for the reason why.
func unchecked(r *http.Request, last visitor, why error) (visitor, error) {
	if last.Role == "" {
		last = visitor{}
	}
	if isOpen(r.URL.Path) || r.URL.Path == metricsPath && last.Role.May(operator.View) {
		return last, nil
	}
	return visitor{}, why
}

// identify returns the sender of a request by the signature of a server, a token or the
// cookie of a session, in this order.
func (h *Handler) identify(r *http.Request) (visitor, error) {
	if text, signed := strings.CutPrefix(r.Header.Get("Authorization"), signedScheme); signed && h.o.Servers != nil && len(r.Header.Values("Authorization")) == 1 {
		return h.fromServer(r, text)
	}
	token, present, err := bearer(r)
	if err != nil {
		return visitor{}, err
	}
	if present {
		c, err := h.o.Authenticate(r.Context(), token)
		return visitor{Caller: c, way: operator.ByToken, secret: token}, err
	}
	secret, present, err := "", false, error(nil)
	if h.o.Sessions != nil {
		secret, present, err = cookieOf(r)
	}
	switch {
	case err != nil:
		return visitor{}, err
	case present:
		in, err := h.o.Sessions.Session(secret)
		if err == nil {
			err = ownPage(r, in.Proof)
		}
		return visitor{Caller: in.Caller, way: operator.BySession, secret: secret, until: in.Until}, err
	case isOpen(r.URL.Path):
		return visitor{}, nil
	}
	return visitor{}, unauthenticated("send a token, as in Authorization: Bearer TOKEN")
}

// unnamed returns the error for a request whose caller is not known: err or, if its address
// sends too many, that it has to wait. Addresses and named callers have separate rates, so
// many addresses cannot keep a named caller out.
func (h *Handler) unnamed(from string, now time.Time, err error) error {
	if wait := h.nameless.take(from, now); wait > 0 {
		return tooMany("requests come from this address", wait)
	}
	return err
}

// bearer returns the token of a request. present is false if it has none.
func bearer(r *http.Request) (token string, present bool, err error) {
	sent := r.Header.Values("Authorization")
	if len(sent) == 0 {
		return "", false, nil
	}
	scheme, token, _ := strings.Cut(sent[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(sent) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return "", true, unauthenticated("the header Authorization must be: Bearer TOKEN")
	}
	return token, true, nil
}

// unauthenticated is the problem of a request whose sender does not prove who it is.
func unauthenticated(detail string) *problem {
	return refuse(http.StatusUnauthorized, codeUnauthenticated, detail)
}

// tooMany is the problem of a sender that has to wait. what says what there is too much of.
func tooMany(what string, wait time.Duration) *problem {
	seconds := int(math.Ceil(wait.Seconds()))
	p := refuse(http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("too many %s; try again in %d s", what, seconds))
	p.retryAfter = strconv.Itoa(seconds)
	return p
}

// isHere reports whether a header Host names this machine. A page whose own name was made
// to resolve to this machine sends that name, and browsers would let it read the answers.
func isHere(hostport string) bool {
	name, _, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(strings.TrimSuffix(name, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.Unmap().IsLoopback()
}

// isLoopback reports whether only this machine reaches an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
