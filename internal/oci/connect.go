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
	headTimeout   = 30 * time.Second // until the headers of an answer
	maxAnswerHead = 64 << 10         // bytes of these
)

// repository returns a client of the artifact's repository; done closes its connections. The client uses
// TLS, unless the registry is on this machine and has none. It gives credentials to that registry alone.
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
			// The host of the API, which for docker.io is not that of the reference. A redirect may ask
			// for the credential of another host.
			if c.Credential == nil || host != repo.Reference.Host() {
				return auth.EmptyCredential, nil
			}
			who, err := c.Credential(ref.Host)
			// Whoever names an authority expects TLS, so an answer without it may come from another program.
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

// trusted returns a TLS configuration with the authorities that may sign the certificate of a registry:
// those of the system, and those in c.CA.
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

// withoutTLS reports whether a registry answers the beginning of TLS with something else, such as an
// answer of HTTP or the mere text of an error. It sends nothing secret.
func withoutTLS(ctx context.Context, transport http.RoundTripper, host string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+host+"/v2/", http.NoBody)
	if err != nil {
		return false // the next request fails, too
	}
	probe := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := probe.Do(r)
	if err == nil {
		_ = answer.Body.Close()
	}
	_, other := errors.AsType[tls.RecordHeaderError](err)
	return other || errors.Is(err, http.ErrSchemeMismatch)
}

// secured sends requests over TLS, or to the one registry without TLS.
type secured struct {
	plain string // the host of that registry, on this machine; "": there is none
	to    http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (s secured) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && r.URL.Host != s.plain {
		return nil, fmt.Errorf("the registry redirects to %s without TLS, and only a registry on this machine may lack TLS", r.URL.Host)
	}
	return s.to.RoundTrip(r) //nolint:wrapcheck // it behaves like the wrapped transport
}

// codes matches the error codes of a registry that may be shown: a single word cannot repeat secrets of
// the request, as a text could.
var codes = regexp.MustCompile(`^[A-Z_]{1,40}$`)

// elsewhere reports whether err means that the registry requires credentials, and only a credential helper,
// which is not started, has them.
func (c Client) elsewhere(ref Reference, err error) bool {
	said, answered := errors.AsType[*errcode.ErrorResponse](err)
	if c.Credential == nil || !errors.Is(err, auth.ErrBasicCredentialNotFound) && !(answered && (said.StatusCode == http.StatusUnauthorized || said.StatusCode == http.StatusForbidden)) {
		return false
	}
	who, _ := c.Credential(ref.Host) // an error of its own is in err already
	return who.Elsewhere
}

// maxError is the limit of the text of an error, in bytes.
const maxError = 500

// quoted is a text as %q writes it.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// failed returns err as an error that may be shown. what was attempted with ref, such as "pull". Of URLs it
// has only the hosts, since their queries may grant access. Of an answer it has only the status and the
// codes, since its text may repeat secrets of the request.
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
		case parseErr != nil || strings.Contains(e.Err.Error(), "parse Location header"): // that error repeats the URL
			err = errors.New("the registry names an invalid address")
		case at.Host == ref.Host && ref.local() && (errors.Is(e.Err, io.EOF) || errors.Is(e.Err, syscall.ECONNRESET)):
			err = fmt.Errorf("%s %s: %w; a registry on this machine is used without TLS only if it answers TLS with something else", e.Op, at.Host, e.Err)
		default:
			err = fmt.Errorf("%s %s: %w", e.Op, at.Host, e.Err)
		}
	}
	if text := shown(err.Error()); text != err.Error() {
		err = errors.New(text)
	}
	if elsewhere {
		err = fmt.Errorf("%w; a credential helper has the credentials, but is not started: set OCI_USER and OCI_PASSWORD", err)
	}
	return fmt.Errorf("%s %s: %w", what, ref, err)
}

// shown shortens the text of an error, and reduces quoted URLs to their hosts. It hides a quoted text that
// has a query but no host, or cannot be read.
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
