package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// Bounds of a client.
const (
	MaxRedirects    = 10       // redirects followed for one request
	maxHeader       = 64 << 10 // bytes of a response's head
	dialTimeout     = 30 * time.Second
	idleTimeout     = 30 * time.Second
	idlePerHost     = 2
	idleConnections = 16
	userAgent       = "wasmjobd"
	// receiveAhead is the number of bytes of a response that are buffered before
	// they are read: per HTTP/2 stream, and per connection in the kernel, which uses
	// twice as much. The sandbox accounts for them.
	receiveAhead = 256 << 10
)

// Options are the settings of a Client; the zero value is valid.
type Options struct {
	// AllowPrivate lists hosts that may have private and loopback addresses, as
	// names or as patterns "*.name". A grant must name them as well.
	AllowPrivate []string
	// Roots verify servers; nil means the roots of the system.
	Roots *x509.CertPool
	// Resolver resolves names; nil means the resolver of the system.
	Resolver *net.Resolver
}

// Client sends requests that its grants allow. It implements job.HTTP and is safe
// for concurrent use.
//
// A grant for an address, or for localhost, reaches that address, or the loopback
// addresses. A grant for a name reaches public addresses; if the operator lists the
// name as private, also private and loopback addresses. A link-local address needs a
// grant for that address.
type Client struct {
	grants    []Grant
	private   []host
	resolver  *net.Resolver
	transport *http.Transport
}

var _ job.HTTP = (*Client)(nil)

// New returns a Client for the given grants. The caller must close it.
func New(grants []string, o Options) (*Client, error) {
	c := &Client{resolver: o.Resolver}
	for _, text := range grants {
		g, err := Parse(text)
		if err != nil {
			return nil, err
		}
		c.grants = append(c.grants, g)
	}
	for _, text := range o.AllowPrivate {
		p := parser{text: text}
		h := p.pattern(0, text)
		if p.fault == nil && (h.isAddress() || h.isAnyPublic()) {
			p.fail(0, "a private host is listed by its name", "grant an address itself")
		}
		if p.fault != nil {
			return nil, fmt.Errorf("private host: %w", p.fault)
		}
		c.private = append(c.private, h)
	}
	c.transport = &http.Transport{
		DialContext:            c.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true, // a few compressed bytes could become many
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: receiveAhead},
	}
	return c, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do implements job.HTTP. A request that is not granted fails with job.ErrDenied.
func (c *Client) Do(ctx context.Context, r job.HTTPRequest) (*job.HTTPResponse, error) {
	req, err := buildRequest(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("send request: %w", err)
	}
	for calls := 1; ; calls++ {
		if err := c.authorize(req); err != nil {
			return nil, fmt.Errorf("send request: %w", err)
		}
		resp, err := c.transport.RoundTrip(req)
		if err != nil {
			return nil, fmt.Errorf("send request: %w", err)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			_ = resp.Body.Close() // no context would end such a connection
			return nil, errors.New("send request: the server switched protocols without being asked")
		}
		next, err := followUp(req, resp, r)
		if next == nil && err == nil {
			return &job.HTTPResponse{Status: resp.StatusCode, Header: headerFields(resp.Header), Body: resp.Body, Calls: calls}, nil
		}
		// Closed without reading the rest, which could take forever.
		_ = resp.Body.Close()
		switch {
		case err != nil:
		case calls > MaxRedirects:
			err = errors.New("too many redirects")
		case r.Redirect != nil:
			err = r.Redirect()
		}
		if err != nil {
			return nil, fmt.Errorf("follow redirect: %w", err)
		}
		req = next
	}
}

// buildRequest converts a guest's request. It denies fields that a guest may not send,
// whatever the sandbox has checked before.
func buildRequest(ctx context.Context, r job.HTTPRequest) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrDenied, err)
	}
	for _, f := range r.Header {
		if err := checkField(f); err != nil {
			return nil, err
		}
		req.Header.Add(f.Name, f.Value)
	}
	if len(req.Header.Values("User-Agent")) == 0 {
		req.Header.Set("User-Agent", userAgent)
	}
	return req, nil
}

// headerFields returns the fields of a header in a stable order.
func headerFields(h http.Header) []job.HTTPField {
	var out []job.HTTPField
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, job.HTTPField{Name: name, Value: v})
		}
	}
	return out
}

// authorize checks a request against the grants. It writes the host that it has
// checked into the request, so that the transport cannot parse the URL differently.
func (c *Client) authorize(r *http.Request) error {
	t, err := targetOf(r.Method, r.URL)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(c.grants, func(g Grant) bool { return g.allows(t) }) {
		return fmt.Errorf("%w: %s %s://%s:%d%s", job.ErrDenied, t.method, t.scheme, t.host, t.port, r.URL.EscapedPath())
	}
	u := *r.URL
	u.Fragment, u.RawFragment = "", ""
	u.Host = t.host.String()
	if t.port != defaultPort(t.scheme) {
		u.Host += ":" + strconv.Itoa(int(t.port))
	}
	r.URL, r.Host = &u, ""
	return nil
}

// dial connects to an address. It checks each resolved address after the socket
// exists and before it connects, so that a name server cannot change it in between.
func (c *Client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	h, why := parseHost(name)
	n, ok := parsePort(port)
	if why != "" || !ok {
		return nil, fmt.Errorf("dial %q: %w", address, job.ErrDenied)
	}
	// address is what authorize has written into the request, so h is a host that was granted.
	d := net.Dialer{
		Timeout:  dialTimeout,
		Resolver: c.resolver,
		Control: func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil || !c.mayDial(h, n, ap.Addr()) {
				return fmt.Errorf("%w: %s leads to %s", job.ErrDenied, h, address)
			}
			return nil
		},
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		if err = tcp.SetReadBuffer(receiveAhead); err != nil {
			_ = tcp.Close()
		}
	}
	return conn, err //nolint:wrapcheck // Do adds the context
}

// mayDial reports whether a request to host h and a port may connect to addr, to which h
// was resolved. A public address may always be reached, since the request was granted. Any
// other needs a grant that names the host and, unless that is an address or localhost, the
// operator's list of private hosts.
func (c *Client) mayDial(h host, port uint16, addr netip.Addr) bool {
	addr = addr.Unmap() // the IPv4 address, if it is written as IPv6
	if h.isAddress() && addr != h.addr {
		return false
	}
	if isPublic(addr) {
		return true
	}
	named := slices.ContainsFunc(c.grants, func(g Grant) bool {
		return g.port == port && !g.host.isAnyPublic() && g.host.covers(h)
	})
	switch {
	case !named:
		return false
	case h.isAddress():
		return true
	case h.name == localhost:
		return addr.IsLoopback()
	}
	return isPrivate(addr) && slices.ContainsFunc(c.private, func(p host) bool { return p.covers(h) })
}
