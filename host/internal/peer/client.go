package peer

import (
	"bytes"
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

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// ErrNoPeer is the error when there is nobody to ask.
var ErrNoPeer = errors.New("no other server offers modules")

// Bounds of a client.
const (
	dialTimeout  = 5 * time.Second
	fetchTimeout = 2 * time.Minute // of one peer
	maxPeers     = 16              // peers, for one module
	maxAddress   = 256             // bytes
	maxReason    = 200             // bytes of a refusal that are shown
)

// Store keeps what was fetched.
type Store interface {
	// PutAs keeps what r gives, at most limit bytes, if it has the digest.
	PutAs(r io.Reader, digest string, limit int64) error
}

// ClientOptions say how a Client asks.
type ClientOptions struct {
	Token string       // as in ServerOptions
	Store Store        // for Fetch alone
	Limit int64        // bytes of a module
	Log   *slog.Logger // nil discards
}

// Client fetches modules from other servers, or brings them there.
type Client struct {
	o         ClientOptions
	transport *http.Transport
}

// NewClient makes one; Close it.
func NewClient(o ClientOptions) *Client {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{o: o, transport: &http.Transport{
		// Servers of one cluster meet directly: no proxy.
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		ResponseHeaderTimeout:  headTimeout,
		MaxResponseHeaderBytes: maxHead,
		ExpectContinueTimeout:  headTimeout, // a module is not sent to who refuses it
		DisableCompression:     true,        // few bytes would become many
		IdleConnTimeout:        idleTimeout,
	}}
}

// Close ends the connections that nobody uses.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Fetch asks one peer after the other, in random order, until one has sent the
// module, and leaves it in the store. The error says of each peer what it did.
// Addresses come from the registry, so whoever writes there may have made them
// up.
func (c *Client) Fetch(ctx context.Context, digest string, addresses []string) error {
	peers := slices.Clone(addresses)
	slices.Sort(peers)
	peers = slices.Compact(peers)
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	peers = peers[:min(len(peers), maxPeers)]
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

// newRequest is what one server understands.
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

// Upload gives a module to the server at an address, which then has it. Only a
// server that shows that it knows the token is given any: addresses come from the
// registry, and code is nobody else's business.
func (c *Client) Upload(ctx context.Context, wasm []byte, address string) error {
	if err := CheckAddress(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, transferTimeout)
	defer cancel()
	digest := module.Digest(wasm)
	has, err := c.authenticate(ctx, digest, address)
	if err != nil || has {
		return err
	}
	r, err := c.newRequest(ctx, http.MethodPut, address, digest, bytes.NewReader(wasm))
	if err != nil {
		return err
	}
	r.Header.Set("Expect", "100-continue")
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return fmt.Errorf("bring the module: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("it answers %d: %s", resp.StatusCode, reason(resp.Body))
	}
	return nil
}

// authenticate has a server show that it knows the token, and tells whether it has a
// module already.
func (c *Client) authenticate(ctx context.Context, digest, address string) (has bool, err error) {
	r, err := c.newRequest(ctx, http.MethodHead, address, digest, http.NoBody)
	if err != nil {
		return false, err
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return false, fmt.Errorf("ask for the module: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	proof := proofOf(c.o.Token, r.Header.Get("Authorization"))
	if c.o.Token == "" || !hmac.Equal([]byte(resp.Header.Get(proofHeader)), []byte(proof)) {
		return false, fmt.Errorf("it answers %d: it has another token, or none, or its clock differs by minutes", resp.StatusCode)
	}
	return resp.StatusCode == http.StatusOK, nil
}

// fetchFrom asks one peer.
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
	resp, err := c.transport.RoundTrip(r) // and no client, which would follow redirects
	if err != nil {
		return fmt.Errorf("ask for the module: %w", err)
	}
	// Not read to its end, which could take for ever.
	defer func() { _ = resp.Body.Close() }()
	switch {
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("it answers %d: %s", resp.StatusCode, reason(resp.Body))
	case resp.ContentLength > c.o.Limit:
		return fmt.Errorf("it has %d bytes, the limit is %d", resp.ContentLength, c.o.Limit)
	}
	if err := c.o.Store.PutAs(resp.Body, digest, c.o.Limit); err != nil {
		return fmt.Errorf("take the module: %w", err)
	}
	return nil
}

// reason is what a peer says, as far as it can be shown.
func reason(body io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(body, maxReason)) // what was read until then will do
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(string(b), "?")))
}

// CheckAddress refuses what is no host with a port.
func CheckAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || len(address) > maxAddress || host == "" || strings.ContainsAny(host, "/@?#\\ ") {
		return errors.New(`that is no address: it is written as "10.0.0.7:7071"`)
	}
	for _, r := range host {
		if r <= ' ' || r >= 0x7f {
			return errors.New("that is no address: the host has characters that no host has")
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("that is no address: the port is a number from 1 to 65535")
	}
	return nil
}
