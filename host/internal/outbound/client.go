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
	MaxRedirects    = 10       // redirects that one request follows
	maxHeader       = 64 << 10 // bytes of the head of an answer
	dialTimeout     = 30 * time.Second
	idleTimeout     = 30 * time.Second
	idlePerHost     = 2
	idleConnections = 16
	userAgent       = "wasmjobd"
	// receiveAhead is how many bytes of an answer come before somebody reads
	// them: of a stream of HTTP/2, and of a connection in the system, which takes
	// twice as much. The sandbox counts them.
	receiveAhead = 256 << 10
)

// Options are the settings of a Client; the zero value is useful.
type Options struct {
	// AllowPrivate are the hosts that may lead to private and loopback
	// addresses, as names or as patterns "*.name". A grant must name them, too.
	AllowPrivate []string
	// Roots verify servers; nil: those of the system.
	Roots *x509.CertPool
	// Resolver finds addresses; nil: the system's.
	Resolver *net.Resolver
}

// Client sends what its grants allow. It implements job.HTTP and may be used
// from any number of goroutines.
//
// A grant that names an address, or localhost, reaches exactly that: the
// address, or the loopback ones. A name reaches public addresses only, unless
// the operator has listed it as private; then private and loopback ones, too.
// Link-local addresses are reached by none but a grant that names them.
type Client struct {
	grants    []Grant
	private   []host
	resolver  *net.Resolver
	transport *http.Transport
}

var _ job.HTTP = (*Client)(nil)

// New makes a client of the texts of grants; whoever made it closes it.
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
		DisableCompression:     true, // few bytes would become many
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConns:           idleConnections,
		MaxIdleConnsPerHost:    idlePerHost,
		IdleConnTimeout:        idleTimeout,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{MaxReceiveBufferPerStream: receiveAhead},
	}
	return c, nil
}

// Close ends the connections that nobody uses.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Do implements job.HTTP. What is not granted fails with job.ErrDenied.
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
			_ = resp.Body.Close() // a connection that no context ends
			return nil, errors.New("send request: the server changes the protocol, which nobody asked for")
		}
		next, err := followUp(req, resp, r)
		if next == nil && err == nil {
			return &job.HTTPResponse{Status: resp.StatusCode, Header: headerFields(resp.Header), Body: resp.Body, Calls: calls}, nil
		}
		// Not read to its end, which could take for ever.
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

// headerFields are the lines of a head, in an order that does not change.
func headerFields(h http.Header) []job.HTTPField {
	var out []job.HTTPField
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, v := range h[name] {
			out = append(out, job.HTTPField{Name: name, Value: v})
		}
	}
	return out
}

// authorize holds a request against the grants, and puts the host that they
// allowed into it, so that no other reading of the URL is dialled.
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

// dial looks at each address when the socket is there and not yet connected:
// no name server can give another one after that.
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
	return conn, err //nolint:wrapcheck // Do says what it was for
}

// mayDial says whether the host at that port may be this address.
func (c *Client) mayDial(h host, port uint16, addr netip.Addr) bool {
	addr = addr.Unmap()
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
