package admin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/registry"
)

// cluster is the state of a cluster, and the keyring of one server.
type cluster struct {
	registry registry.Registry
	keyring  *operator.Keyring
	op       *operator.Operator
}

// newCluster begins a cluster that lasts until stop is called.
func newCluster(t *testing.T, r registry.Registry) (c *cluster, stop func()) {
	t.Helper()
	c = &cluster{registry: r, keyring: operator.NewKeyring(r, "wasmjobd", nil)}
	op, err := operator.Open(t.Context(), r, "wasmjobd")
	if err != nil {
		t.Fatal(err)
	}
	c.op = op
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.keyring.Run(ctx) })
	return c, func() {
		cancel()
		running.Wait()
		if err := op.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (c *cluster) operate(ctx context.Context) (*operator.Operator, error) {
	return operator.Open(ctx, c.registry, "wasmjobd")
}

// authenticate implements Authenticate with the keyring.
func (c *cluster) authenticate(_ context.Context, token string) (operator.Caller, error) {
	return c.keyring.Check(token)
}

// token creates a token, and returns its secret.
func (c *cluster) token(t *testing.T, name string, role operator.Role, life time.Duration) string {
	t.Helper()
	secret, _, err := c.op.CreateToken(t.Context(), name, role, life)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// signIn begins a session, and waits until the server knows it.
func (c *cluster) signIn(t *testing.T, token string) operator.SignedIn {
	t.Helper()
	in, err := c.op.SignIn(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	c.keyring.AwaitSession(t.Context(), in.Secret)
	return in
}

// cookied are the headers that a signed-in page of the server sends.
func cookied(in operator.SignedIn) []string {
	return []string{"Cookie: " + plainCookie + "=" + in.Secret, csrfHeader + ": " + in.Proof, "Sec-Fetch-Site: same-origin"}
}

// browser sends requests to one server after the other, and has no cookies of its own.
type browser struct {
	t    *testing.T
	with *http.Transport
}

// answer is the answer to a browser.
type answer struct {
	*http.Response
	body []byte
}

// code is the code of the problem in an answer, or "".
func (a answer) code() string {
	var p problem
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}

// send sends a request with headers, "name: value".
func (b browser) send(method, url string, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, url, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, one := range headers {
		name, value, _ := strings.Cut(one, ": ")
		r.Header.Add(name, value)
	}
	got, err := conforming{b.t, b.with}.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err := errors.Join(err, got.Body.Close()); err != nil {
		b.t.Fatal(err)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'", "Access-Control-Allow-Origin": "",
	} {
		if has := got.Header.Get(name); has != want {
			b.t.Errorf("%s %s is answered with %s %q", method, url, name, has)
		}
	}
	return answer{got, body}
}

// A browser signs in at one server, works at another, and signs out at a third.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	authorities, files := newAuthority(t), filesIn(t.TempDir())
	authorities.write(t, "server", files)
	roots := x509.NewCertPool()
	roots.AddCert(authorities.cert)
	for name, way := range map[string]struct {
		files          TLS
		scheme, cookie string
	}{
		"TCP": {TLS{}, "http://", plainCookie},
		"TLS": {files, "https://", secureCookie},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, "report")
			b := browser{t, &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
			var at []string
			var clusters []*cluster
			for range 3 {
				c, stop := newCluster(t, s.registry)
				t.Cleanup(stop)
				clusters = append(clusters, c)
				at = append(at, way.scheme+serveTCP(t, way.files, NewHandler(Options{Operate: c.operate, Authenticate: c.authenticate, Sessions: c.keyring})))
			}
			token := clusters[0].token(t, "ann", operator.RoleOperator, time.Hour)
			var in answer
			for again := time.NewTicker(time.Millisecond); ; <-again.C {
				if in = b.send(http.MethodPost, at[0]+sessionPath, "Authorization: Bearer "+token); in.StatusCode != http.StatusUnauthorized && in.StatusCode != http.StatusServiceUnavailable && in.StatusCode != http.StatusTooManyRequests {
					break
				}
			}
			var d sessionDocument
			cookies := in.Cookies()
			if err := json.Unmarshal(in.body, &d); err != nil || in.StatusCode != http.StatusOK || len(cookies) != 1 || d.Name != "ann" || d.CSRF == "" || strings.Contains(string(in.body), token) {
				t.Fatalf("%d %s, %v", in.StatusCode, in.body, cookies)
			}
			c := cookies[0]
			if c.Name != way.cookie || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.Secure != (name == "TLS") || c.MaxAge < 3500 || c.MaxAge > 3600 {
				t.Errorf("the cookie is %+v", c)
			}
			for _, one := range clusters {
				one.keyring.AwaitSession(t.Context(), c.Value)
			}
			checkWrites(t, b, at[1], way.scheme, c, d.CSRF)
			cookie := "Cookie: " + c.Name + "=" + c.Value
			if rows, err := clusters[0].op.Audit(t.Context(), operator.AuditFilter{}); err != nil || len(rows) == 0 || rows[0].Way != operator.BySession || rows[0].Name != "ann" || rows[0].Role != operator.RoleOperator {
				t.Errorf("%+v, %v", rows, err)
			}
			if got := b.send(http.MethodPost, at[1]+sessionPath, cookie, csrfHeader+": "+d.CSRF, "Sec-Fetch-Site: same-origin"); got.code() != codeRefused {
				t.Errorf("a cookie for a cookie: %d %s", got.StatusCode, got.body)
			}
			if got := b.send(http.MethodDelete, at[2]+sessionPath, "Authorization: Bearer "+token); got.code() != codeRefused {
				t.Errorf("a token signs out: %d %s", got.StatusCode, got.body)
			}
			out := b.send(http.MethodDelete, at[2]+sessionPath, cookie, csrfHeader+": "+d.CSRF, "Sec-Fetch-Site: same-origin")
			if gone := out.Cookies(); out.StatusCode != http.StatusNoContent || len(gone) != 1 || gone[0].Name != c.Name || gone[0].Value != "" || gone[0].MaxAge >= 0 || gone[0].Secure != c.Secure {
				t.Errorf("%d %s, %v", out.StatusCode, out.body, gone)
			}
			for _, address := range at {
				wantEnd(t, b, address, cookie)
			}
		})
	}
}

// checkWrites sends requests with a cookie from pages of all kinds.
func checkWrites(t *testing.T, b browser, address, scheme string, c *http.Cookie, csrf string) {
	t.Helper()
	const write, read = http.MethodPost, http.MethodGet
	cookie, shown := "Cookie: "+c.Name+"="+c.Value, csrfHeader+": "+csrf
	other := map[string]string{"http://": "https://", "https://": "http://"}[scheme]
	foreign := map[string]string{plainCookie: secureCookie, secureCookie: plainCookie}[c.Name]
	for _, tt := range []struct {
		name, method string
		headers      []string
		code         string
	}{
		{"a page of the server", write, []string{cookie, shown, "Sec-Fetch-Site: same-origin", "Origin: " + address}, ""},
		{"an older browser", write, []string{cookie, shown, "Origin: " + address}, ""},
		{"no value", write, []string{cookie, "Sec-Fetch-Site: same-origin"}, codeCSRF},
		{"an empty value", write, []string{cookie, csrfHeader + ": ", "Sec-Fetch-Site: same-origin"}, codeCSRF},
		{"the value of another session", write, []string{cookie, csrfHeader + ": " + csrf[1:] + csrf[:1], "Sec-Fetch-Site: same-origin"}, codeCSRF},
		{"two values", write, []string{cookie, shown, shown, "Sec-Fetch-Site: same-origin"}, codeCSRF},
		{"the secret in the place of the value", write, []string{cookie, csrfHeader + ": " + c.Value, "Sec-Fetch-Site: same-origin"}, codeCSRF},
		{"nothing of where it comes from", write, []string{cookie, shown}, codeCrossSite},
		{"another site", write, []string{cookie, shown, "Sec-Fetch-Site: cross-site"}, codeCrossSite},
		{"another port of the machine", write, []string{cookie, shown, "Sec-Fetch-Site: same-site"}, codeCrossSite},
		{"an address that a person typed", write, []string{cookie, shown, "Sec-Fetch-Site: none"}, codeCrossSite},
		{"another origin", write, []string{cookie, shown, "Origin: https://evil.example"}, codeCrossSite},
		{"another scheme", write, []string{cookie, shown, "Origin: " + other + strings.TrimPrefix(address, scheme)}, codeCrossSite},
		{"no origin", write, []string{cookie, shown, "Origin: null"}, codeCrossSite},
		{"a read", read, []string{cookie}, ""},
		{"a read of a page of the server", read, []string{cookie, "Sec-Fetch-Site: same-origin"}, ""},
		{"a read of an address that a person typed", read, []string{cookie, "Sec-Fetch-Site: none"}, ""},
		{"a read of another port", read, []string{cookie, "Sec-Fetch-Site: same-site"}, codeCrossSite},
		{"a read of another site", read, []string{cookie, "Sec-Fetch-Site: cross-site"}, codeCrossSite},
		{"two cookies", read, []string{cookie + "; " + c.Name + "=wrong"}, codeUnauthenticated},
		{"a cookie of the other name", read, []string{"Cookie: " + foreign + "=" + c.Value}, codeUnauthenticated},
	} {
		path := "/api/v1/jobs/report:pause"
		if tt.method == read {
			path = sessionPath
		}
		if got := b.send(tt.method, address+path, tt.headers...); got.code() != tt.code || tt.code == "" && got.StatusCode >= 300 {
			t.Errorf("%s is answered %d %s, want %q", tt.name, got.StatusCode, got.body, tt.code)
		}
	}
}

// wantEnd waits until a server no longer accepts a cookie.
func wantEnd(t *testing.T, b browser, address, cookie string) {
	t.Helper()
	for again := time.NewTicker(time.Millisecond); ; <-again.C {
		if got := b.send(http.MethodGet, address+sessionPath, cookie); got.StatusCode != http.StatusOK {
			if got.code() != codeUnauthenticated {
				t.Errorf("%d %s", got.StatusCode, got.body)
			}
			return
		}
	}
}

// A caller that signs in too often has to wait. A dry run does not sign in.
func TestSignInsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	c, stop := newCluster(t, s.registry)
	t.Cleanup(stop)
	h := NewHandler(Options{Operate: c.operate, Authenticate: known, Sessions: c.keyring})
	token := "Authorization: Bearer viewer"
	if w := sent(t, h, http.MethodPost, sessionPath, "10.0.0.1:1", token); w.Code != http.StatusForbidden || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a token that the cluster does not have any more: %d %s", w.Code, w.Body)
	}
	for range failureBurst {
		sent(t, h, http.MethodPost, sessionPath, "10.0.0.1:1", token)
	}
	if w := sent(t, h, http.MethodPost, sessionPath, "10.0.0.1:1", token); w.Code != http.StatusTooManyRequests {
		t.Errorf("it is answered %d %s", w.Code, w.Body)
	}
	known := c.signIn(t, c.token(t, "ann", operator.RoleViewer, 0))
	h = NewHandler(Options{Operate: c.operate, Authenticate: c.authenticate, Sessions: c.keyring})
	w := sent(t, h, http.MethodDelete, sessionPath+"?dry_run=true", "10.0.0.2:1", cookied(known)...)
	if w.Code != http.StatusOK || w.Header().Get("Set-Cookie") != "" {
		t.Errorf("a dry run: %d %s", w.Code, w.Body)
	}
	if w := sent(t, h, http.MethodGet, sessionPath, "10.0.0.2:1", cookied(known)...); w.Code != http.StatusOK {
		t.Errorf("after it: %d %s", w.Code, w.Body)
	}
}
