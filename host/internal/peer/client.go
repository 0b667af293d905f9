package peer

import (
	"cmp"
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ErrNoPeer reports that there is no address to fetch from.
var ErrNoPeer = errors.New("it is not here, and no server of the job offers it: push it with wasmjobd module push")

// Bounds of a client.
const (
	dialTimeout  = 5 * time.Second
	fetchTimeout = 2 * time.Minute // for one peer
	maxPeers     = 16              // for one module
	maxAddress   = 256             // bytes
	maxReason    = 200             // bytes of a refusal in an error
)

// Store keeps modules.
type Store interface {
	// PutAs stores the bytes of r, at most limit, if they have the digest, and the text
	// of their signature, which is nil if there is none.
	PutAs(r io.Reader, digest string, sign []byte, limit int64) error
	// Admit returns an error if PutAs would refuse the module whatever its bytes.
	Admit(digest string, sign []byte) error
}

// ClientOptions are the settings of a Client.
type ClientOptions struct {
	Token string       // shared by all servers
	Store Store        // used by Fetch only
	Limit int64        // maximum bytes of a module
	Log   *slog.Logger // nil discards
}

// Client fetches modules from other servers and uploads modules to them.
type Client struct {
	o         ClientOptions
	transport *http.Transport
}

// NewClient returns a Client. The caller must close it.
func NewClient(o ClientOptions) *Client {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Client{o: o, transport: &http.Transport{
		// The servers of a cluster connect directly, without a proxy.
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout:  headTimeout,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  headTimeout, // send a module only after the server accepts it
		DisableCompression:     true,        // a few compressed bytes could become many
		IdleConnTimeout:        idleTimeout,
	}}
}

// Close closes idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Fetch requests a module from one address after the other, in random order, until
// one server has sent it, and puts it into the store. The error lists the failure of
// each peer. Addresses come from the registry and may be false.
func (c *Client) Fetch(ctx context.Context, digest string, addresses []string) error {
	peers := slices.Clone(addresses)
	slices.Sort(peers)
	peers = slices.Compact(peers)
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	peers = peers[:min(len(peers), maxPeers)] // any of them will do
	if len(peers) == 0 {
		return fmt.Errorf("module %s: %w", digest, ErrNoPeer)
	}
	var errs []error
	for _, address := range peers {
		err := c.fetchFrom(ctx, digest, address)
		if err == nil {
			c.o.Log.Info("module fetched from another server", "module", digest, "peer", address)
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("fetch module %s: %w", digest, ctx.Err())
		}
		errs = append(errs, fmt.Errorf("peer %.256q: %w", address, err))
	}
	return fmt.Errorf("fetch module %s: %w", digest, errors.Join(errs...))
}

// newRequest returns a signed request for a module.
func (c *Client) newRequest(ctx context.Context, method, address, digest string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+address+modulesPath+digest, body)
	if err != nil {
		return nil, fmt.Errorf("make a request for %s: %w", address, err)
	}
	r.Header.Set("User-Agent", "wasmjobd")
	if c.o.Token != "" {
		r.Header.Set("Authorization", sign(c.o.Token, schemeOf(method), address, digest, time.Now()))
	}
	return r, nil
}

// Module is a module to upload.
type Module struct {
	Digest    string
	Bytes     io.ReaderAt // Size bytes
	Size      int64
	Signature []byte // its text; nil if it has none
}

// Upload sends a module to the server at address, unless the server has it. It sends
// a module only to a server that proves that it knows the token: an address in the
// registry may be false, and the code of jobs is confidential.
func (c *Client) Upload(ctx context.Context, m Module, address string) error {
	if err := CheckAddress(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	has, signed, err := c.authenticate(ctx, m.Digest, address)
	// Without a signature to add, or with the same one, there is nothing to send.
	if err != nil || has && (len(m.Signature) == 0 || signed == encodeSignature(m.Signature)) {
		return err
	}
	body := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(m.Bytes, 0, m.Size)), nil }
	first, _ := body()
	r, err := c.newRequest(ctx, http.MethodPut, address, m.Digest, first)
	if err != nil {
		return err
	}
	r.ContentLength, r.GetBody = m.Size, body // for another attempt to send it
	r.Header.Set("Expect", "100-continue")
	setSignature(r.Header, m.Signature)
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("upload the module: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answered %d: %s", resp.StatusCode, reason(resp.Body))
	}
	return nil
}

// authenticate requires the server at address to prove that it knows the token. It reports
// whether the server has the module, and with which signature, as encoded in a header.
func (c *Client) authenticate(ctx context.Context, digest, address string) (has bool, signed string, err error) {
	r, err := c.newRequest(ctx, http.MethodHead, address, digest, http.NoBody)
	if err != nil {
		return false, "", err
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return false, "", fmt.Errorf("request the module: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	// The proof is for the signature of this request, so that no server can send an old one.
	proof := proofOf(c.o.Token, r.Header.Get("Authorization"))
	if c.o.Token == "" || !hmac.Equal([]byte(resp.Header.Get(proofHeader)), []byte(proof)) {
		return false, "", fmt.Errorf("it answered %d without proof of the token: check that both servers have the same token, and their clocks", resp.StatusCode)
	}
	return resp.StatusCode == http.StatusOK, resp.Header.Get(signatureHeader), nil
}

// fetchFrom fetches a module from one peer.
func (c *Client) fetchFrom(ctx context.Context, digest, address string) (err error) {
	if err := CheckAddress(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := c.newRequest(ctx, http.MethodGet, address, digest, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.transport.RoundTrip(r) // an http.Client would follow redirects
	if err != nil {
		return fmt.Errorf("request the module: %w", err)
	}
	// Closed without reading the rest, which could take forever.
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("it answered %d: %s", resp.StatusCode, reason(resp.Body))
	case resp.ContentLength > c.o.Limit:
		return fmt.Errorf("the module has %d bytes; the limit is %d", resp.ContentLength, c.o.Limit)
	}
	sign, err := signatureIn(resp.Header)
	if err == nil {
		err = c.o.Store.Admit(digest, sign)
	}
	if err != nil {
		return err
	}
	if err := c.o.Store.PutAs(resp.Body, digest, sign, c.o.Limit); err != nil {
		return fmt.Errorf("store the module: %w", err)
	}
	return nil
}

// reason returns the text of a refusal in printable form.
func reason(body io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(body, maxReason)) // a part of the text is enough
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(string(b), "?")))
}

// CheckAddress returns an error if address is not a host with a port.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || len(address) > maxAddress || host == "" || strings.ContainsAny(host, "/@?#\\ ") {
		return errors.New(`not an address: write it as "10.0.0.7:7071"`)
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return errors.New("not an address: the host has invalid characters")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("not an address: the port must be a number from 1 to 65535")
	}
	return nil
}
