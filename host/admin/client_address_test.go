package admin

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// at returns a client of the server at an address, with a token, whose answers are checked.
func at(t *testing.T, address, token string) *Client {
	t.Helper()
	c, err := At(address, token, ClientTLS{})
	if err != nil {
		t.Fatal(err)
	}
	c.transport = conforming{t, c.transport.(*http.Transport)}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// A client by address can do what its token allows, and gets the errors of the operator.
func TestClientByAddress(t *testing.T) {
	t.Parallel()
	s := start(t, "report")
	address := "http://" + serveTCP(t, TLS{}, NewHandler(Options{Operate: s.operate, Authenticate: known}))
	ctx := t.Context()
	c := at(t, address, "operator")
	if err := c.Trigger(ctx, "report"); err != nil {
		t.Fatal(err)
	}
	<-s.ran
	if names, err := c.Names(ctx); err != nil || len(names) != 1 {
		t.Errorf("%q: %v", names, err)
	}
	wantCode(t, "a job that is not there", c.Pause(ctx, "absent", operator.PauseTerms{}), host.NotFound, `there is no job "absent"`)
	wantCode(t, "a role too low", c.Remove(ctx, "report", true), host.Denied, "has the role operator")
	wantCode(t, "a revoked token", at(t, address, "revoked").Trigger(ctx, "report"), host.Denied, "the token was revoked")
	wantCode(t, "no token", at(t, address, "").Trigger(ctx, "report"), host.Denied, "send a token")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a write to nobody", at(t, "http://"+l.Addr().String(), "operator").Trigger(ctx, "report"), host.Unavailable, "connection refused")
}

// With TLS, the client checks the name in the certificate. If only one of client and server speaks TLS, the error
// says so.
func TestClientByTLS(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), filesIn(t.TempDir())
	a.write(t, "server", files)
	h, _ := guarded(Options{})
	address := "https://" + serveTCP(t, files, h)
	c := at(t, address, "viewer")
	_, err := c.Job(t.Context(), "report")
	wantCode(t, "an unknown authority", err, host.Unavailable, "name a file with the authority as ca")
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	c.transport.(conforming).TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	_, err = c.Job(t.Context(), "report")
	wantCode(t, "a known one", err, host.NotFound, "there is no namespace")
	plainly := "https://" + serveTCP(t, TLS{}, h)
	_, err = at(t, plainly, "viewer").Job(t.Context(), "report")
	wantCode(t, "no TLS there", err, host.Unavailable, "write http://")
	_, err = at(t, "http://"+strings.TrimPrefix(address, "https://"), "viewer").Job(t.Context(), "report")
	wantCode(t, "TLS there", err, host.Unavailable, "write https://")
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://one.internal:8680": "", "https://10.0.0.7/": "", "http://127.0.0.1:8680": "", "http://localhost:1": "", "http://[::1]:1": "",
		"http://one.internal:8680": "others would see what is sent there", "http://10.0.0.7": "others would see", "http://127.0.0.1.evil.example": "others would see",
		"ftp://x": "write https://x", "127.0.0.1:8680": "write https://", "": "nothing behind", "https://": "nothing behind", "https://a/b": "nothing behind",
		"https://a?b": "nothing behind", "https://user:secret@a": "nothing behind", "https://a b": "nothing behind",
	} {
		_, err := At(address, "x", ClientTLS{})
		if want != "" {
			wantCode(t, address, err, host.Invalid, want)
		} else if err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

func TestReadToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, tt := range []struct {
		text string
		mode os.FileMode
		code host.Code
	}{
		{"token\n", 0o600, ""},
		{"token", 0o400, ""},
		{"token\n", 0o640, host.Denied},
		{"", 0o600, host.Invalid},
		{"two\nlines\n", 0o600, host.Invalid},
		{strings.Repeat("x", maxToken+1), 0o600, host.Invalid},
		{"t\x00ken", 0o600, host.Invalid},
	} {
		name := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(name, []byte(tt.text), tt.mode); err != nil {
			t.Fatal(err)
		}
		got, err := ReadToken(name)
		if tt.code != "" {
			wantCode(t, tt.text, err, tt.code, name)
		} else if got != "token" || err != nil {
			t.Errorf("%q: %q, %v", tt.text, got, err)
		}
	}
	_, err := ReadToken(filepath.Join(dir, "absent"))
	wantCode(t, "absent", err, host.Invalid, "no such file")
}

// A client with files of the server's authority is accepted, and a client without a
// certificate is not.
func TestClientShowsItsCertificate(t *testing.T) {
	t.Parallel()
	s, a, files := start(t, "report"), newAuthority(t), filesIn(t.TempDir())
	a.write(t, "server", files)
	own := filesIn(t.TempDir())
	a.write(t, "client", own)
	files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "clients.pem")
	writePEM(t, files.ClientCA, "CERTIFICATE", a.cert.Raw)
	address := "https://" + serveTCP(t, files, NewHandler(Options{Operate: s.operate, Authenticate: known}))
	for name, tt := range map[string]struct {
		files ClientTLS
		want  string // of the error
	}{
		"all of it":      {ClientTLS{files.ClientCA, own.Cert, own.Key}, ""},
		"no certificate": {ClientTLS{CA: files.ClientCA}, "certificate required"},
		"no authority":   {ClientTLS{Cert: own.Cert, Key: own.Key}, "unknown authority"},
	} {
		c, err := At(address, "viewer", tt.files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Names(t.Context()); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with %s: %v, want %q", name, err, tt.want)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	for name, tt := range map[string]struct {
		address string
		files   ClientTLS
		want    string
	}{
		"no key":         {address, ClientTLS{Cert: own.Cert}, "and its key \"\""},
		"no file":        {address, ClientTLS{CA: "absent.pem"}, "absent.pem"},
		"no certificate": {address, ClientTLS{CA: own.Key}, "has no certificate in PEM"},
		"no TLS":         {"http://127.0.0.1:8680", ClientTLS{CA: files.ClientCA}, "only with https://"},
	} {
		_, err := At(tt.address, "viewer", tt.files)
		wantCode(t, name, err, host.Invalid, tt.want)
	}
}
