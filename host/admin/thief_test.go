package admin

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/operator"
)

// Without TLS, a browser sends the session cookie to each port of the machine. A program at another port
// that forwards it, with all other headers of a page of the server, cannot change anything.
func TestCookieOfAnotherPortWritesNothing(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	c, stop := newCluster(t, s.registry)
	t.Cleanup(stop)
	h := NewHandler(Options{Operate: c.operate, Authenticate: c.authenticate, Sessions: c.keyring})
	address := "http://" + serveTCP(t, TLS{}, h)
	ann := c.token(t, "ann", operator.RoleAdmin, 0)
	c.signIn(t, ann) // the server knows the token
	b := browser{t, &http.Transport{DisableKeepAlives: true}}
	in := b.send(http.MethodPost, address+sessionPath, "Authorization: Bearer "+ann)
	var hers sessionDocument
	if err := json.Unmarshal(in.body, &hers); err != nil || hers.CSRF == "" {
		t.Fatalf("%s, %v", in.body, err)
	}

	// The browser opens a page at another port.
	stolen := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Cookie") }))
	t.Cleanup(thief.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	here, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	jar.SetCookies(here, in.Cookies())
	page, err := (&http.Client{Jar: jar}).Get(thief.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = page.Body.Close()
	cookie := <-stolen
	secret, has := strings.CutPrefix(cookie, plainCookie+"=")
	if !has {
		t.Fatalf("the other port gets %q, and this test shows nothing", cookie)
	}

	shown := b.send(http.MethodGet, address+sessionPath, "Cookie: "+cookie, "Sec-Fetch-Site: same-origin")
	if shown.StatusCode != http.StatusOK || strings.Contains(string(shown.body), "csrf") || strings.Contains(string(shown.body), hers.CSRF) {
		t.Errorf("the cookie is worth %d %s", shown.StatusCode, shown.body)
	}
	computed := hmac.New(sha256.New, []byte(secret))
	_, _ = computed.Write([]byte("csrf"))
	own := c.signIn(t, c.token(t, "eve", operator.RoleViewer, 0))
	for what, value := range map[string]string{
		"nothing": "", "the cookie": secret, "what is computed of it": base64.RawURLEncoding.EncodeToString(computed.Sum(nil)), "the value of an own session": own.Proof,
	} {
		for method, path := range map[string]string{http.MethodPost: "/api/v1/jobs/report:pause", http.MethodDelete: "/api/v1/jobs/report"} {
			got := b.send(method, address+path, "Cookie: "+cookie, csrfHeader+": "+value, "Sec-Fetch-Site: same-origin", "Origin: "+address)
			if got.code() != codeCSRF {
				t.Errorf("%s with %s is answered %d %s", method, what, got.StatusCode, got.body)
			}
		}
	}
	if got := b.send(http.MethodPost, address+sessionPath, "Cookie: "+cookie, "Sec-Fetch-Site: same-origin", "Origin: "+address); got.StatusCode < 400 || len(got.Cookies()) > 0 {
		t.Errorf("the cookie signs in: %d %s", got.StatusCode, got.body)
	}
	if got := b.send(http.MethodPost, address+"/api/v1/jobs/report:pause", "Cookie: "+cookie, csrfHeader+": "+hers.CSRF, "Sec-Fetch-Site: same-origin"); got.StatusCode != http.StatusAccepted {
		t.Errorf("her own page is answered %d %s", got.StatusCode, got.body)
	}
}
