package admin

import (
	"context"
	"crypto/hmac"
	"crypto/tls"
	"net/http"
	"reflect"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/internal/connections"
)

const (
	sessionPath = "/api/v1/session"
	// csrfHeader must have a value that only the answer to the sign-in shows, so that only the
	// page that has signed in can write. The cookie alone is not enough, since the browser also
	// sends it to other ports of the machine.
	csrfHeader = "X-Csrf-Token"
	// Names of the cookie. Browsers take the first one over TLS only, and from no other
	// host. Without TLS only this machine connects.
	secureCookie = "__Host-wasmjobd"
	plainCookie  = "wasmjobd"
	// awaitSession limits how long the answer to a sign-in waits for the server to read the new
	// session.
	awaitSession = 2 * time.Second
)

// Sessions has the browser sessions. operator.Keyring implements it.
type Sessions interface {
	// Session returns the session with a secret. Its errors mean the same as those of Authenticate.
	Session(secret string) (operator.SignedIn, error)
	// AwaitSession waits until a new session is known, or ctx ends.
	AwaitSession(ctx context.Context, secret string)
}

// visitor is the sender of a request.
type visitor struct {
	operator.Caller
	way operator.Way
	// secret is the token, or the value of the session cookie.
	secret string
	until  time.Time // the end of a session
	// through is the server that forwards the request.
	through operator.Server
}

// key is the key by which the requests of a visitor are counted. The name in a forwarded request is
// only a claim of the other server, so it must not use up the rate of the caller with that name.
func (v *visitor) key() string {
	if v.way == operator.ByServer {
		return v.through.Key + " " + v.Name
	}
	return v.Name
}

// logged returns the attributes of a visitor for the log.
func (v *visitor) logged() []any {
	if v.way == "" {
		return nil
	}
	all := []any{"caller", v.Name, "role", v.Role}
	if v.way == operator.ByServer {
		all = append(all, "through", v.through.Address)
	}
	return all
}

// cookieOf returns the secret in a request's cookie. present is false if it has none.
func cookieOf(r *http.Request) (secret string, present bool, err error) {
	all := r.CookiesNamed(cookieName(r))
	switch len(all) {
	case 0:
		return "", false, nil
	case 1:
		return all[0].Value, true, nil
	}
	// It is not known which of them is of this server.
	return "", true, unauthenticated("there are several cookies " + cookieName(r) + "; remove them, and sign in again")
}

// isSecured reports whether a request came over TLS. The listener that limits connections hides
// that from net/http.
func isSecured(r *http.Request) bool {
	if c := connections.Of(r); c != nil {
		_, secured := c.(*tls.Conn)
		return secured
	}
	return r.TLS != nil
}

// cookieName is the name of the session cookie on the connection of a request.
func cookieName(r *http.Request) string {
	if isSecured(r) {
		return secureCookie
	}
	return plainCookie
}

// setCookie sets the session cookie of a browser; an empty secret deletes it.
func setCookie(w http.ResponseWriter, r *http.Request, secret string, until time.Time) {
	c := &http.Cookie{Name: cookieName(r), Value: secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: isSecured(r), MaxAge: -1} //nolint:gosec // Secure wherever the server is asked over TLS
	if secret != "" {
		c.MaxAge = max(1, int(time.Until(until).Seconds()))
	}
	http.SetCookie(w, c)
}

// ownPage refuses requests with a cookie that do not come from a page of this server. The same site is not
// enough, since programs on other ports of this machine are the same site. A write also needs the proof that
// only the page that has signed in knows.
func ownPage(r *http.Request, proof string) error {
	site, reads := r.Header.Get("Sec-Fetch-Site"), r.Method == http.MethodGet || r.Method == http.MethodHead
	// The value none is a request of the user, such as a typed address. Older browsers send no Sec-Fetch-Site.
	if site != "" && site != "same-origin" && (site != "none" || !reads) {
		return refuse(http.StatusForbidden, codeCrossSite, "a page of another origin sent this request with the cookie of this one")
	}
	if reads {
		return nil
	}
	scheme := "http://"
	if isSecured(r) {
		scheme = "https://"
	}
	if origin := r.Header.Get("Origin"); site == "" && origin != scheme+r.Host {
		return refuse(http.StatusForbidden, codeCrossSite, "a write with a cookie needs the header Sec-Fetch-Site or Origin of a page of this server; programs send a token")
	}
	if sent := r.Header.Values(csrfHeader); len(sent) != 1 || !hmac.Equal([]byte(sent[0]), []byte(proof)) {
		return refuse(http.StatusForbidden, codeCSRF, "a write with a cookie needs the header "+csrfHeader+" with the \"csrf\" that POST "+sessionPath+" has answered; sign in again if the page has lost it")
	}
	return nil
}

// sessionRoutes are the routes by which a browser signs in and out.
func sessionRoutes() []route {
	served := func(o *Options) bool { return o.Sessions != nil }
	return []route{
		{
			method: http.MethodPost, path: sessionPath, right: operator.View, does: signInAction(), fails: []string{codeRefused}, served: served,
			says: "signs a browser in. The browser sends its token once and gets a cookie, which every server of the cluster takes in place of the token, for 12 h or until the token ends. " +
				"The answer alone has the value \"csrf\" for the header `" + csrfHeader + "` that each write needs",
		},
		{
			method: http.MethodGet, path: sessionPath, right: operator.View, does: shows(showSession), alone: true, served: served,
			says: "answers who the caller is; to a browser that is signed in, also until when",
		},
		{method: http.MethodDelete, path: sessionPath, right: operator.View, does: does(signOut), fails: []string{codeRefused}, served: served, says: "signs the browser out, on all servers"},
	}
}

// sessionDocument describes a caller.
type sessionDocument struct {
	Version int           `json:"version"`
	Name    string        `json:"name"`
	Role    operator.Role `json:"role"`
	Until   *time.Time    `json:"until,omitempty"`
	CSRF    string        `json:"csrf,omitempty"`
}

// showSession answers who the caller is, with the end of a browser session if it has one.
func showSession(r *request) (sessionDocument, error) {
	d := sessionDocument{Version: 1, Name: r.caller.Name, Role: r.caller.Role}
	if r.caller.way == operator.BySession {
		d.Until = &r.caller.until
	}
	return d, nil
}

// signInAction begins a browser session: it answers the caller of a token with a cookie, which the browser then
// sends in place of the token.
func signInAction() action {
	return action{takes: reflect.TypeFor[nothing](), gives: reflect.TypeFor[sessionDocument](), status: http.StatusOK, do: func(r *request) error {
		if err := r.readBody(new(nothing)); err != nil {
			return err
		}
		if r.caller.way != operator.ByToken {
			return refuse(http.StatusConflict, codeRefused, "sign in with a token, as in Authorization: Bearer TOKEN")
		}
		if wait := r.h.signIns.take(r.caller.Name, time.Now()); wait > 0 { // each writes to the registry
			return tooMany("browsers sign in with this token", wait)
		}
		in, err := r.op.SignIn(r.Context(), r.caller.secret)
		if err != nil || in.Secret == "" { // in a dry run
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), awaitSession)
		defer cancel()
		r.h.o.Sessions.AwaitSession(ctx, in.Secret) // or the browser's next request could be refused
		setCookie(r.w, r.Request, in.Secret, in.Until)
		return r.answer(sessionDocument{Version: 1, Name: r.caller.Name, Role: r.caller.Role, Until: &in.Until, CSRF: in.Proof})
	}}
}

// signOut ends the browser session of the caller, and deletes its cookie.
func signOut(r *request, _ *nothing) error {
	if r.caller.way != operator.BySession {
		return refuse(http.StatusConflict, codeRefused, "this request has no cookie of a session to end; a token is ended by `token revoke`")
	}
	if err := r.op.SignOut(r.Context(), r.caller.secret); err != nil {
		return err
	}
	setCookie(r.w, r.Request, "", time.Time{})
	return nil
}
