package oci

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// manifestOf is a manifest with a freely chosen layer.
func manifestOf(mediaType, digest string, size int, more string) string {
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":{"mediaType":%q,"digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":%d%s}]}`,
		configType, digestOf("{}"), mediaType, digest, size, more)
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// Nothing of a registry that lies is accepted, and its bytes are not read beyond the limits.
func TestRegistriesThatLie(t *testing.T) {
	t.Parallel()
	hello := digestOf("hello")
	good := manifestOf(layerType, hello, 5, "")
	for _, tt := range []struct {
		name, mediaType, manifest, blob string
		pinned                          string
		says                            string
	}{
		{"all in order", manifestType, good, "hello", "", ""},
		{"pinned", manifestType, good, "hello", digestOf(good), ""},
		{"a layer of others", manifestType, manifestOf(layerOfSpin, hello, 5, ""), "hello", "", ""},
		{"another manifest than the pinned one", manifestType, good, "hello", digestOf("other"), "mismatch"},
		{"a huge manifest", manifestType, good[:len(good)-1] + strings.Repeat(" ", maxManifest) + "}", "hello", "", "the limit is 65536"},
		{"an index", "application/vnd.oci.image.index.v1+json", `{"schemaVersion":2,"manifests":[]}`, "hello", "", "only an artifact with one manifest"},
		{"no JSON", manifestType, "hello", "hello", "", "read its manifest"},
		{"two layers", manifestType, strings.Replace(good, `"layers":[`, `"layers":[{"mediaType":"application/wasm","digest":"`+hello+`","size":5},`, 1), "hello", "", "it has 2 layers"},
		{"no module", manifestType, manifestOf("application/x-tar", hello, 5, ""), "hello", "", "not a type of modules"},
		{"a huge module", manifestType, manifestOf(layerType, hello, 1<<40, ""), "hello", "", "the limit is 1000"},
		{"a negative size", manifestType, manifestOf(layerType, hello, -1, ""), "hello", "", "the limit is 1000"},
		{"a digest that is a path", manifestType, manifestOf(layerType, "sha256:../../../etc/passwd", 5, ""), "hello", "", "invalid"},
		{"other bytes", manifestType, good, "hallo", "", "mismatch"},
		{"more bytes than it says", manifestType, good, "hello and more", "", "mismatch"},
		{"a huge signature", manifestType, manifestOf(layerType, hello, 5, fmt.Sprintf(`,"annotations":{%q:%q}`, signedBy, strings.Repeat("x", 101))), "hello", "", "the signature has more than"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/manifests/") {
				w.Header().Set("Content-Type", tt.mediaType)
				w.Header().Set("Content-Length", strconv.Itoa(len(tt.manifest)))
				_, _ = io.WriteString(w, tt.manifest)
				return
			}
			_, _ = io.WriteString(w, tt.blob)
		}))
		ref := Reference{strings.TrimPrefix(s.URL, "http://"), "report", "1", tt.pinned}
		m, _, err := client.Pull(t.Context(), ref)
		s.Close()
		if ok := tt.says == ""; ok != (err == nil) || ok && string(m.Wasm) != "hello" || !ok && (m.Wasm != nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %q, %v", tt.name, m.Wasm, err)
		}
	}
}

// Neither a redirect nor a token server leads to another address without TLS, and no other server
// gets the credentials.
func TestRegistriesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	var asked, secrets atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Header.Get("Authorization") != "" {
			secrets.Add(1)
		}
	}))
	defer elsewhere.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"realm": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Www-Authenticate", `Bearer realm="`+elsewhere.URL+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"loop": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
		},
	} {
		for _, s := range []*httptest.Server{httptest.NewServer(answer), httptest.NewTLSServer(answer)} {
			c := knowing(t, s)
			ref := Reference{s.Listener.Addr().String(), "report", "1", ""}
			_, _, err := c.Pull(t.Context(), ref)
			if err == nil || strings.Contains(err.Error(), password) || strings.Contains(err.Error(), "x509") {
				t.Errorf("%s: %v", name, err)
			}
			if _, err := c.Push(t.Context(), ref, Module{Wasm: []byte("hello")}); err == nil {
				t.Errorf("%s: it was pushed", name)
			}
			s.Close()
		}
	}
	if asked.Load() != 0 || secrets.Load() != 0 {
		t.Errorf("another address was asked %d times, and got credentials %d times", asked.Load(), secrets.Load())
	}
	// A registry on another machine is not used without TLS.
	far := secured{to: http.DefaultTransport}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://registry.example/v2/", http.NoBody)
	if _, err := far.RoundTrip(r); err == nil || //nolint:bodyclose // there is none
		!strings.Contains(err.Error(), "without TLS") {
		t.Errorf("without TLS: %v", err)
	}
}

// A registry on this machine that answers TLS with anything else is used without TLS. A registry
// that does not answer is not.
func TestRegistriesWithoutTLS(t *testing.T) {
	t.Parallel()
	for answer, says := range map[string]string{
		"HTTP/1.1 400 Bad Request\r\n\r\n": "answers 403",
		"<html>400 Bad Request</html>\n":   "answers 403",
		"":                                 "EOF; a registry on this machine is used without TLS only if it answers TLS with something else",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
		s.Listener.Close()
		s.Listener = plainListener{l, answer}
		s.Start()
		_, _, err = client.Pull(t.Context(), Reference{l.Addr().String(), "report", "1", ""})
		s.Close()
		wantHidden(t, fmt.Sprintf("%q", answer), err, says)
	}
}

// With a configured authority, registries are expected to have TLS: a server without TLS at such an
// address may be another program of this machine, and gets no credentials.
func TestCertificatesWithoutTLS(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("it gets credentials")
		}
		w.Header().Set("Www-Authenticate", `Basic realm="modules"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer s.Close()
	c := knowing(t, s)
	c.CA = certificate(t).certPath
	_, _, err := c.Pull(t.Context(), Reference{s.Listener.Addr().String(), "report", "1", ""})
	wantHidden(t, "without TLS", err, "while OCI_CA is set, credentials are not sent to a registry without TLS")
	c.Credential = nil
	_, _, err = c.Pull(t.Context(), Reference{s.Listener.Addr().String(), "report", "1", ""})
	wantHidden(t, "nobody", err, "credential not found")
}

// plainListener accepts connections on which TLS is answered with a text.
type plainListener struct {
	net.Listener
	answer string
}

// Accept implements net.Listener.
func (l plainListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		var first [1]byte
		if _, err := io.ReadFull(c, first[:]); err == nil && first[0] != 0x16 { // of a handshake of TLS
			return plainConn{c, io.MultiReader(bytes.NewReader(first[:]), c)}, nil
		}
		_, _ = io.WriteString(c, l.answer)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
}

type plainConn struct {
	net.Conn
	from io.Reader
}

// Read implements net.Conn.
func (c plainConn) Read(b []byte) (int, error) { return c.from.Read(b) }

// knowing returns a client with ann's credentials for every registry, and with the certificate of a server.
func knowing(t *testing.T, s *httptest.Server) Client {
	t.Helper()
	c := client
	c.Credential = func(string) (Credential, error) { return Credential{User: "ann", Password: password}, nil }
	if known := s.Certificate(); known != nil {
		c.CA = filepath.Join(t.TempDir(), "ca.pem")
		if err := os.WriteFile(c.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Raw}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A registry may keep its bytes at another server with TLS. That server gets no credentials, and no
// error shows the query that grants access to it.
func TestBytesAtAnotherPlace(t *testing.T) {
	t.Parallel()
	status, content := http.StatusOK, "hello"
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.URL.RawQuery != "signature=open" {
			t.Errorf("%s is asked for with %q", r.URL, r.Header.Get("Authorization"))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, content)
	}))
	defer elsewhere.Close()
	manifest, location := manifestOf(layerType, digestOf("hello"), 5, ""), elsewhere.URL+"/blob?signature=open"
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch user, given, _ := r.BasicAuth(); {
		case user != "ann" || given != password:
			w.Header().Set("Www-Authenticate", `Basic realm="modules"`)
			w.WriteHeader(http.StatusUnauthorized)
		case strings.Contains(r.URL.Path, "/manifests/"):
			w.Header().Set("Content-Type", manifestType)
			_, _ = io.WriteString(w, manifest)
		default:
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}))
	defer s.Close()
	c, ref := knowing(t, s), Reference{s.Listener.Addr().String(), "report", "1", ""}
	if m, _, err := c.Pull(t.Context(), ref); err != nil || string(m.Wasm) != "hello" {
		t.Errorf("%q, %v", m.Wasm, err)
	}
	status = http.StatusForbidden
	at := elsewhere.Listener.Addr().String()
	_, _, err := c.Pull(t.Context(), ref)
	wantHidden(t, "forbidden", err, at+" answers 403")
	status, content = http.StatusOK, "hello and more"
	_, _, err = c.Pull(t.Context(), ref)
	wantHidden(t, "another length", err, "GET "+at+": mismatch Content-Length")
	location = "https://[" + encoded("ann:"+password) + "?signature=open"
	_, _, err = c.Pull(t.Context(), ref)
	wantHidden(t, "no address", err, "names an invalid address")
}

// The errors of a token server, and those of a registry about it, are not repeated either.
func TestTokensFromAnotherPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ realm, says string }{
		"no JSON":    {"/token?signature=open", ": failed to decode response"},
		"no HTTP":    {"ftp://" + strings.Repeat("x", 50000), "GET 127.0.0.1:"},
		"no scheme":  {"token?signature=open", "unsupported scheme"},
		"no address": {"https://[x?signature=open", "names an invalid address"},
		// A token server in a private network, under another name than the registry.
		"a private one": {"https://127.0.0.2:1/token?signature=open", `bearer realm host "127.0.0.2" is a loopback, link-local, private`},
		"a name in it":  {"https://ann:open sesame@[::1]/token?signature=open", "names an invalid address"},
	} {
		var realm string
		s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/token" {
				_, _ = io.WriteString(w, "hello")
				return
			}
			w.Header().Set("Www-Authenticate", `Bearer realm="`+realm+`",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		if realm = tt.realm; realm[0] == '/' {
			realm = s.URL + realm
		}
		_, _, err := knowing(t, s).Pull(t.Context(), Reference{s.Listener.Addr().String(), "report", "1", ""})
		s.Close()
		wantHidden(t, name, err, tt.says)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	pin := "@" + digestOf("x")
	for _, text := range []string{"oci://registry.example/report:1.4.0", "oci://localhost:5000/team/report:1", "oci://[::1]:5000/report:1", "oci://registry.example/report" + pin, "oci://registry.example/a/b/c:v1" + pin} {
		if r := parsed(t, text); r.String() != text {
			t.Errorf("%s is read as %s", text, r)
		}
	}
	for _, text := range []string{
		"", "report:1", "https://registry.example/report:1", "oci://", "oci://registry.example", "oci://registry.example/report", "oci://registry.example/:1", "oci:///report:1",
		"oci://registry.example/../report:1", "oci://registry.example/report:../1", "oci://registry.example/Report:1", "oci://registry.example/report:1:2", "oci://user:pass@registry.example/report:1",
		"oci://registry.example/report:1@sha512:" + strings.Repeat("a", 128), "oci://registry.example/report@sha256:abc", "oci://registry.example/report:1" + pin + pin, "oci://registry.example/report:1?x=y",
		"oci://registry.example/report:" + strings.Repeat("1", maxReference), "oci://reg istry/report:1", "oci://registry.example/report:1\n",
	} {
		if r, err := Parse(text); err == nil {
			t.Errorf("%q is a reference: %+v", text, r)
		}
	}
	for _, text := range []string{"oci://ann:open sesame@registry.example/report:1", "oci://ann:open sesame@registry.example/report" + pin, "oci://ann:open sesame@", "oci://ann:open sesame/x@registry.example/report:1", "oci://open sesame@registry.example"} {
		_, err := Parse(text)
		wantHidden(t, "credentials", err, "has credentials before its host")
	}
	for text, want := range map[string]bool{"localhost": true, "localhost:5000": true, "127.0.0.2:1": true, "[::1]:1": true, "registry.example": false, "10.0.0.1:5000": false, "localhost.example": false, "127.0.0.1.example:80": false} {
		if got := (Reference{Host: text}).local(); got != want {
			t.Errorf("%s is on this machine: %v", text, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("oci://registry.example/team/report:1.4.0@" + digestOf("x"))
	f.Add("oci://[::1]:5000/report:1")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(r.String()); err != nil || again != r || strings.Contains(text, "..") && strings.Contains(r.Repository, "..") {
			t.Errorf("%q is %+v and then %+v, %v", text, r, again, err)
		}
	})
}
