package admin

import (
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
)

// Authenticate returns who presents a token. An error of the code Denied says that
// the token is wrong, has expired or was revoked; any other that nobody can tell now.
type Authenticate func(ctx context.Context, token string) (operator.Caller, error)

// Bounds of callers. A person or a program at work stays below them.
const (
	callerBurst     = 200
	callerPerSecond = 50
	// failureBurst wrong tokens are answered at once, and then failurePerSecond of
	// them. Nobody guesses a token: the bound spares the server the work and the log.
	failureBurst     = 10
	failurePerSecond = 0.2
	// maxToken is the limit of a token, in bytes.
	maxToken = 512
)

// requestIDHeader names a request in answers, logs and the audit.
const requestIDHeader = "X-Request-Id"

// socketUser is the caller if nobody is asked for a token.
var socketUser = operator.Caller{Name: "user of the server", Role: operator.RoleAdmin} // read only

// callerKey is the key of a Caller in a context.
type callerKey struct{}

// admit returns the caller of a request, or refuses it before anything is looked up. A
// request for an open route may come without a token; its caller has no role then.
func (h *Handler) admit(r *http.Request) (operator.Caller, error) {
	from, now := addressOf(r.RemoteAddr), time.Now()
	if err := h.crossSite.Check(r); err != nil {
		return operator.Caller{}, h.unnamed(from, now, refuse(http.StatusForbidden, codeCrossSite, "a page of another site sent this request: only programs, and pages of this server, may change something"))
	}
	if h.o.Authenticate == nil {
		return socketUser, nil
	}
	token, present, err := bearer(r)
	var c operator.Caller
	switch {
	case err == nil && present:
		c, err = h.o.Authenticate(r.Context(), token)
	case err == nil && !isOpen(r.URL.Path):
		err = unauthenticated("send a token, as in Authorization: Bearer TOKEN")
	}
	if e, ok := errors.AsType[*host.Error](err); ok && e.Code == host.Denied {
		err = unauthenticated(e.Error())
	}
	if p, ok := errors.AsType[*problem](err); ok && p.Code == codeUnauthenticated {
		if wait := h.failures.take(from, now); wait > 0 {
			return c, tooMany("requests without a right token come from this address", wait)
		}
		return c, err
	}
	if err != nil || !present {
		return c, h.unnamed(from, now, err)
	}
	if wait := h.callers.take(c.Name, now); wait > 0 {
		return c, tooMany("requests come from this caller", wait)
	}
	return c, nil
}

// unnamed returns err, or that an address asks too often, for a request of which nobody
// knows the caller. Addresses have rates of their own: many of them crowd out no name.
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
		return "", true, unauthenticated("the header Authorization is to be: Bearer TOKEN")
	}
	return token, true, nil
}

func unauthenticated(detail string) *problem {
	return refuse(http.StatusUnauthorized, codeUnauthenticated, detail)
}

func tooMany(what string, wait time.Duration) *problem {
	seconds := int(math.Ceil(wait.Seconds()))
	p := refuse(http.StatusTooManyRequests, codeTooMany, fmt.Sprintf("too many %s; try again in %d s", what, seconds))
	p.retryAfter = strconv.Itoa(seconds)
	return p
}

// isHere reports whether a header Host names this machine. A page whose name was made
// to lead here sends its own name instead, and browsers let it read the answers.
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
