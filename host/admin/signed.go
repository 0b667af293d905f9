package admin

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/operator"
)

// Requests between servers are signed with a key of the sender, whose public half is in the
// registry. They name the caller for whom the server asks, and are answered only once.

// Servers has the servers of the cluster. operator.Keyring implements it.
type Servers interface {
	// Own returns this server. It fails while the others cannot know it.
	Own() (operator.OwnServer, error)
	// Others returns the other servers that can be asked.
	Others() ([]operator.Server, error)
	// Server returns the server with a key. Its errors mean the same as those of Authenticate.
	Server(key string) (operator.Server, error)
	// Time returns the registry's time.
	Time() time.Time
}

const (
	// signedScheme begins the header Authorization of a signed request.
	signedScheme = "Wasmjobd-Server "
	// signedAge is how much the time of a request may differ from the registry's.
	signedAge = 10 * time.Second
	// nonceAge is how long a nonce is remembered: longer than its request is accepted, even
	// if the estimate of the registry's time changes.
	nonceAge = time.Minute
	// maxNonces limits the remembered nonces. While there are as many, no request is
	// accepted.
	maxNonces = 20_000
	// maxSigned is the limit of the header, and maxNonce of a nonce, in bytes.
	maxSigned = 2 << 10
	maxNonce  = 64
)

// claim is the signed head of a request: sender, receiver, time and caller.
type claim struct {
	From  string        `json:"from"` // key of a server
	To    string        `json:"to"`   // key of a server
	At    int64         `json:"at"`   // in Unix milliseconds
	Nonce string        `json:"nonce"`
	Name  string        `json:"name"` // of the caller
	Role  operator.Role `json:"role"`
}

// sign signs a request from the server own to another one, for a caller. now is the registry's time.
func sign(r *http.Request, own operator.OwnServer, to operator.Server, now time.Time, of operator.Caller) error {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
			return fmt.Errorf("sign a request: %w", err)
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	c := claim{From: own.Key, To: to.Key, At: now.UnixMilli(), Nonce: rand.Text(), Name: of.Name, Role: of.Role}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("sign a request: %w", err)
	}
	head := base64.RawURLEncoding.EncodeToString(text)
	signature := ed25519.Sign(own.Private, signedText(head, r.Method, r.URL.RequestURI(), r.Header, body))
	r.Header.Set("Authorization", signedScheme+head+"."+base64.RawURLEncoding.EncodeToString(signature))
	return nil
}

// signedText is the text that is signed: all of a request that influences the answer.
func signedText(head, method, uri string, header http.Header, body []byte) []byte {
	sum := sha256.Sum256(body)
	// None of the parts has a line break.
	return []byte(strings.Join([]string{"wasmjobd-server-1", head, method, uri, header.Get(lastEventHeader), hex.EncodeToString(sum[:])}, "\n"))
}

// parseSigned parses the text after signedScheme in a header.
func parseSigned(text string) (c claim, head string, signature []byte, err error) {
	head, sum, _ := strings.Cut(text, ".")
	if len(text) > maxSigned {
		return c, "", nil, fmt.Errorf("it has more than %d bytes", maxSigned)
	}
	if signature, err = base64.RawURLEncoding.DecodeString(sum); err != nil {
		return c, "", nil, fmt.Errorf("read the signature: %w", err)
	}
	says, err := base64.RawURLEncoding.DecodeString(head)
	if err != nil {
		return c, "", nil, fmt.Errorf("read the signed text: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(says))
	d.DisallowUnknownFields() // an unknown field may be a restriction
	if err := d.Decode(&c); err != nil {
		return c, "", nil, fmt.Errorf("read the signed text: %w", err)
	}
	return c, head, signature, nil
}

// fromServer checks a request that another server has signed, and returns its caller. If the
// request is invalid, the error has the code Denied.
func (h *Handler) fromServer(r *http.Request, text string) (visitor, error) {
	c, head, signature, err := parseSigned(text)
	if err != nil {
		return visitor{}, unsigned("the signature of a server cannot be read: " + err.Error())
	}
	own, err := h.o.Servers.Own()
	if err != nil {
		return visitor{}, err
	}
	from, err := h.o.Servers.Server(c.From)
	now := h.o.Servers.Time()
	switch {
	case err != nil:
		return visitor{}, err
	case c.To != own.Key:
		return visitor{}, unsigned("the request is for another server than the one that answers here")
	case now.Sub(time.UnixMilli(c.At)).Abs() > signedAge:
		return visitor{}, unsigned(fmt.Sprintf("the request is of another time than %s; servers go by the clock of the registry", now.UTC().Format(time.RFC3339)))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody)) // of a longer one the signature is wrong
	if err != nil {
		return visitor{}, unsigned("the body cannot be read: " + err.Error())
	}
	key, err := hex.DecodeString(c.From)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, signedText(head, r.Method, r.RequestURI, r.Header, body), signature) {
		return visitor{}, unsigned("the request is not what the server at " + from.Address + " has signed")
	}
	if _, err := operator.ParseRole(string(c.Role)); err != nil || len(c.Nonce) > maxNonce || c.Name == "" {
		return visitor{}, unsigned("a server asks for a caller with a name and a role, and with a short nonce")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	// Only now, so that nobody but the servers of the cluster can fill the nonces.
	switch first, room := h.nonces.first(c.From+" "+c.Nonce, time.Now()); {
	case !room:
		return visitor{}, tooMany("requests come from other servers", nonceAge)
	case !first:
		return visitor{}, unsigned("the request was sent before; each is signed anew")
	}
	return visitor{Caller: operator.Caller{Name: c.Name, Role: c.Role}, way: operator.ByServer, through: from}, nil
}

// unsigned is the error of a request that no server of the cluster has sent so, or not now.
func unsigned(detail string) error { return &host.Error{Code: host.Denied, Msg: detail} }

// nonces remembers the nonces of received requests.
type nonces struct {
	mu    sync.Mutex
	until map[string]time.Time // guarded by mu
	swept time.Time            // guarded by mu
}

// first remembers a nonce. It reports whether the nonce is new, and whether there was room.
func (n *nonces) first(nonce string, now time.Time) (first, room bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.swept) >= signedAge { // not for each request, since it looks at all nonces
		n.swept = now
		for one, until := range n.until {
			if now.After(until) {
				delete(n.until, one)
			}
		}
	}
	if _, ok := n.until[nonce]; ok {
		return false, true
	}
	if len(n.until) >= maxNonces {
		return false, false
	}
	n.until[nonce] = now.Add(nonceAge)
	return true, true
}
