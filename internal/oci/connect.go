package oci

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

const (
	maxRedirects  = 3
	headTimeout   = 30 * time.Second
	maxAnswerHead = 64 << 10
)

// repository is where the artifact is; done closes its connections.
func (c Client) repository(ctx context.Context, ref Reference) (repo *remote.Repository, done func(), err error) {
	if repo, err = remote.NewRepository(ref.Host + "/" + ref.Repository); err != nil {
		return nil, nil, invalid(ref.String(), err)
	}
	base, _ := http.DefaultTransport.(*http.Transport)
	transport := base.Clone()
	transport.ResponseHeaderTimeout, transport.MaxResponseHeaderBytes = headTimeout, maxAnswerHead
	if transport.TLSClientConfig, err = c.trusted(); err != nil {
		return nil, nil, err
	}
	via := secured{to: transport}
	if repo.PlainHTTP = ref.local() && withoutTLS(ctx, transport, ref.Host); repo.PlainHTTP {
		via.plain = ref.Host
	}
	repo.MaxMetadataBytes = maxManifest
	repo.Client = &auth.Client{
		Client: &http.Client{Transport: via, CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		}},
		Credential: func(_ context.Context, host string) (auth.Credential, error) {
			if c.Credential == nil || host != repo.Reference.Host() { // docker.io has another one for its API
				return auth.EmptyCredential, nil
			}
			who, err := c.Credential(ref.Host)
			if repo.PlainHTTP && c.CA != "" && (who.Password != "" || who.IdentityToken != "") {
				err = errors.New("while OCI_CA is set, credentials are not sent to a registry without TLS")
			}
			if err != nil {
				return auth.EmptyCredential, err
			}
			return auth.Credential{Username: who.User, Password: who.Password, RefreshToken: who.IdentityToken}, nil
		},
		Cache: auth.NewCache(),
	}
	return repo, transport.CloseIdleConnections, nil
}

// trusted has the certificates that may have signed that of a registry.
func (c Client) trusted() (*tls.Config, error) {
	if c.CA == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	text, err := readFile(c.CA)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of registries of artifacts: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of this machine: %w", err)
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", c.CA)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, nil
}

// withoutTLS reports whether a registry answers a first word of TLS with what is none, be it an
// answer of HTTP or the text of an error alone. Nothing secret is sent.
func withoutTLS(ctx context.Context, transport http.RoundTripper, host string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host+"/v2/", http.NoBody)
	if err != nil {
		return false // what comes next says so
	}
	probe := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := probe.Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	_, other := errors.AsType[tls.RecordHeaderError](err)
	return other || errors.Is(err, http.ErrSchemeMismatch)
}

// secured sends requests over TLS, or to the one registry that has none.
type secured struct {
	plain string // the host of that one, on this machine; "": there is none
	to    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s secured) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Host != s.plain {
		return nil, fmt.Errorf("the registry redirects to %s without TLS, and only a registry on this machine may be without TLS", r.URL.Host)
	}
	return s.to.RoundTrip(r) //nolint:wrapcheck // it behaves like what it wraps
}

// codes are what a registry may say of an error: a word, and no text in which it repeats what
// it was asked with.
var codes = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// elsewhere reports whether a registry wants credentials that a program has.
func (c Client) elsewhere(ref Reference, err error) bool {
	said, answered := errors.AsType[*errcode.ErrorResponse](err)
	if c.Credential == nil || !errors.Is(err, auth.ErrBasicCredentialNotFound) && !(answered && (said.StatusCode == http.StatusUnauthorized || said.StatusCode == http.StatusForbidden)) {
		return false
	}
	who, _ := c.Credential(ref.Host) // an error is the one that is shown
	return who.Elsewhere
}

// maxError is the limit of what is said of an error, in bytes.
const maxError = 500

// quoted is a text as %q writes it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// failed is an error with the hosts of addresses alone, whose queries may let anybody read them, and
// without the text of an answer.
func (c Client) failed(what string, ref Reference, err error) error {
	elsewhere := c.elsewhere(ref, err)
	if e, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		said := []string{fmt.Sprintf("%s answers %d %s", e.URL.Host, e.StatusCode, http.StatusText(e.StatusCode))}
		for _, one := range e.Errors {
			if codes.MatchString(one.Code) {
				said = append(said, one.Code)
			}
		}
		err = errors.New(strings.Join(said, ", "))
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		at, parseErr := url.Parse(e.URL)
		switch {
		case parseErr != nil || strings.Contains(e.Err.Error(), "parse Location header"):
			err = errors.New("the registry names an address that cannot be read")
		case at.Host == ref.Host && ref.local() && (errors.Is(e.Err, io.EOF) || errors.Is(e.Err, syscall.ECONNRESET)):
			err = fmt.Errorf("%s %s: %w; a registry on this machine is asked without TLS only if it answers TLS with something else", e.Op, at.Host, e.Err)
		default:
			err = fmt.Errorf("%s %s: %w", e.Op, at.Host, e.Err)
		}
	}
	if text := shown(err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	if elsewhere {
		err = fmt.Errorf("%w; a credential helper has the credentials, and none is started here: set OCI_USER and OCI_PASSWORD", err)
	}
	return fmt.Errorf("%s %s: %w", what, ref, err)
}

// shown is the text of an error, short, with the hosts of addresses alone.
func shown(text string) string {
	text = quoted.ReplaceAllStringFunc(text, func(one string) string {
		plain, err := strconv.Unquote(one)
		if err != nil {
			return `"…"`
		}
		at, err := url.Parse(plain)
		switch {
		case err != nil || at.Host == "" && strings.Contains(plain, "?"):
			return `"…"`
		case at.Host != "":
			return at.Host
		}
		return one
	})
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "…"
	}
	return text
}
