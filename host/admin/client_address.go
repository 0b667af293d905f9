package admin

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// ClientTLS names the files by which a Client and a server authenticate each other. The
// zero value trusts the authorities of the system, and has no certificate.
type ClientTLS struct {
	CA        string // the certificates of the server's authorities
	Cert, Key string // the certificate and key of the client
}

// config reads the files. It is nil if there are none.
func (f ClientTLS) config() (*tls.Config, error) {
	if f == (ClientTLS{}) {
		return nil, nil //nolint:nilnil // for an http.Transport, nil means its defaults
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		text, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, &host.Error{Code: host.Invalid, Msg: "read the authorities of the server", Err: err}
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &host.Error{Code: host.Invalid, Msg: f.CA + " has no certificate in PEM"}
		}
	}
	if f.Cert != "" || f.Key != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("read the certificate %q and its key %q", f.Cert, f.Key), Err: withoutText(err)}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// At returns a Client of the server at an address, which sends it a token. The address is
// https://host:port, or http:// on this machine: elsewhere, others could see the token.
func At(address, token string, files ClientTLS) (*Client, error) {
	u, err := serverURL(address)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && files != (ClientTLS{}) {
		return nil, wrongAddress(address, "certificates are used only with https://")
	}
	config, err := files.config()
	if err != nil {
		return nil, err
	}
	return &Client{path: u.Scheme + "://" + u.Host, base: u.Scheme + "://" + u.Host, token: token, transport: &http.Transport{
		DialContext:            (&net.Dialer{Timeout: headTimeout}).DialContext,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    headTimeout,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  headTimeout,
		DisableCompression:     true, // a small answer could become a large one
		MaxIdleConnsPerHost:    maxRequests,
		IdleConnTimeout:        idleTimeout,
	}}, nil
}

// serverURL parses the address of a server.
func serverURL(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, wrongAddress(address, "write https://host:port and nothing behind it")
	}
	switch {
	case u.Scheme == "http" && !leadsHere(u.Hostname()):
		return nil, wrongAddress(address, "others would see what is sent there; write https://")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, wrongAddress(address, "write https://"+strings.TrimPrefix(address, u.Scheme+"://"))
	}
	return u, nil
}

// wrongAddress is the error of an address that cannot be used. It hides a password in the address.
func wrongAddress(address, hint string) error {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		address = u.Redacted()
	}
	return &host.Error{Code: host.Invalid, Msg: fmt.Sprintf("%.200q is not the address of a server: %s", address, hint)}
}

// leadsHere reports whether a name is this machine's loopback.
func leadsHere(name string) bool {
	a, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && a.IsLoopback()
}

// ReadToken reads a token from a file that no other user may read. Only the mode of a regular file counts, so the
// name may be that of a pipe.
func ReadToken(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", &host.Error{Code: host.Invalid, Msg: "read the file of the token", Err: err}
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", &host.Error{Code: host.Invalid, Msg: "read the file of the token", Err: err}
	case info.Mode().IsRegular() && info.Mode()&(fs.ModePerm&0o077) != 0:
		return "", &host.Error{Code: host.Denied, Msg: fmt.Sprintf("other users may read the token in %s (mode %04o); give it the mode 0600", name, info.Mode().Perm())}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxToken+2)) // with a line break
	token := strings.TrimSpace(string(text))
	if err != nil || token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", &host.Error{Code: host.Invalid, Msg: name + " has no token: it is one line, as token create prints it", Err: err}
	}
	return token, nil
}
