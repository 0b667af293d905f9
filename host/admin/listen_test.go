package admin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns the certificate of a name, in DER. The authority signs itself if it has none.
func (a *authority) sign(t *testing.T, name string, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent := a.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	cert, err := x509.ParseCertificate(a.sign(t, "authority", a.key))
	if err != nil {
		t.Fatal(err)
	}
	a.cert = cert
	return a
}

// write writes a certificate of a name, and its key, into files.
func (a *authority) write(t *testing.T, name string, files TLS) {
	t.Helper()
	key := newKey(t)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, files.Cert, "CERTIFICATE", a.sign(t, name, key))
	writePEM(t, files.Key, "PRIVATE KEY", text)
}

func writePEM(t *testing.T, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func filesIn(dir string) TLS {
	return TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
}

// serveTCP serves at a port of this machine until the test ends, and returns its address.
func serveTCP(t *testing.T, files TLS, h *Handler) string {
	t.Helper()
	l, err := ListenTCP(t.Context(), "127.0.0.1:0", files, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := Serve(ctx, l, h); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
	})
	return l.Addr().String()
}

// get requests a URL on a new connection, and returns the status and the name in the
// server's certificate.
func get(t *testing.T, url, name string, config *tls.Config) (status int, shown string, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = name
	r.Header.Set("Authorization", "Bearer viewer")
	c := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	answer, err := c.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	if answer.TLS != nil {
		shown = answer.TLS.PeerCertificates[0].Subject.CommonName
	}
	return answer.StatusCode, shown, answer.Body.Close()
}

// A name that resolves to this machine without being its own is refused.
func TestNamesOfLoopback(t *testing.T) {
	t.Parallel()
	h, asked := guarded(Options{})
	at := serveTCP(t, TLS{}, h)
	_, port, _ := net.SplitHostPort(at)
	for name, want := range map[string]int{
		"": 404, "localhost": 404, "LOCALHOST:" + port: 404, "127.0.0.1:1": 404, "[::1]:" + port: 404, "localhost.": 404,
		"evil.example": 421, "evil.example:" + port: 421, "localhost.evil.example": 421, "10.0.0.1": 421, "127.0.0.1.evil.example": 421,
	} {
		before := asked.Load()
		status, _, err := get(t, "http://"+at+"/api/v1/jobs", name, nil)
		if err != nil || status != want || (asked.Load() > before) != (want == 404) {
			t.Errorf("%q is answered %d, want %d: %v", name, status, want, err)
		}
	}
}

// A handler without tokens is not served at any address.
func TestAddressesNeedTokens(t *testing.T) {
	t.Parallel()
	l, err := ListenTCP(t.Context(), "127.0.0.1:0", TLS{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Serve(t.Context(), l, NewHandler(Options{Operate: onMemory})); err == nil || !strings.Contains(err.Error(), "tokens") {
		t.Errorf("it is served: %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Errorf("the port is still open: %v", c.Close())
	}
}

// Other machines can connect only with TLS.
func TestOtherAddressesNeedTLS(t *testing.T) {
	t.Parallel()
	if _, err := ListenTCP(t.Context(), "0.0.0.0:0", TLS{}, nil, nil); err == nil || !strings.Contains(err.Error(), "use TLS, or 127.0.0.1") {
		t.Errorf("it listens: %v", err)
	}
	dir := t.TempDir()
	a := newAuthority(t)
	files := filesIn(dir)
	if _, err := ListenTCP(t.Context(), "127.0.0.1:0", files, nil, nil); err == nil || !strings.Contains(err.Error(), files.Cert) {
		t.Errorf("there are no files: %v", err)
	}
	a.write(t, "server", files)
	l, err := ListenTCP(t.Context(), "0.0.0.0:0", files, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// A changed certificate is used without a restart, unless it is invalid.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), filesIn(t.TempDir())
	a.write(t, "first", files)
	h, _ := guarded(Options{})
	url := "https://" + serveTCP(t, files, h) + openAPIPath
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	client := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	shows := func(what, want string) {
		t.Helper()
		if status, name, err := get(t, url, "", client); err != nil || status != http.StatusOK || name != want {
			t.Errorf("%s: %d by %q, want %q: %v", what, status, name, want, err)
		}
	}
	shows("at first", "first")
	a.write(t, "the second", files)
	shows("changed", "the second")
	if err := os.WriteFile(files.Key, []byte("half a k"), 0o600); err != nil {
		t.Fatal(err)
	}
	shows("damaged", "the second")
	if err := os.Remove(files.Cert); err != nil {
		t.Fatal(err)
	}
	shows("removed", "the second")
	a.write(t, "the third one", files)
	shows("mended", "the third one")
	if _, _, err := get(t, url, "", &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

// If an authority is configured, clients need one of its certificates.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	a, files := newAuthority(t), filesIn(t.TempDir())
	a.write(t, "server", files)
	files.ClientCA = filepath.Join(filepath.Dir(files.Cert), "clients.pem")
	writePEM(t, files.ClientCA, "CERTIFICATE", a.cert.Raw)
	h, _ := guarded(Options{})
	url := "https://" + serveTCP(t, files, h) + openAPIPath
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	of := func(signer *authority) []tls.Certificate {
		key := newKey(t)
		return []tls.Certificate{{Certificate: [][]byte{signer.sign(t, "client", key)}, PrivateKey: key}}
	}
	for _, tt := range []struct {
		name  string
		certs []tls.Certificate
		ok    bool
	}{{"its own", of(a), true}, {"none", nil, false}, {"of another", of(newAuthority(t)), false}} {
		status, _, err := get(t, url, "", &tls.Config{RootCAs: roots, Certificates: tt.certs, MinVersion: tls.VersionTLS12})
		if (err == nil && status == http.StatusOK) != tt.ok {
			t.Errorf("a client with the certificate %s is answered %d: %v", tt.name, status, err)
		}
	}
}
