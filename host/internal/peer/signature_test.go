package peer

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

const shared = "open sesame"

// strictStore returns a store that takes modules signed by who.
func strictStore(t *testing.T, who signaturetest.Signer) *module.Store {
	t.Helper()
	keys, err := signature.ParseKeys([]string{who.Public})
	if err != nil {
		t.Fatal(err)
	}
	s, err := module.Open(filepath.Join(t.TempDir(), "modules"), keys)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A signature travels from an operator to a server without keys, and from there to one
// with keys.
func TestSignatureGoesWithTheModule(t *testing.T) {
	t.Parallel()
	ann, wasm := signaturetest.New("ann"), []byte("hello")
	digest, sign := module.Digest(wasm), ann.Sign(wasm)
	first := newStore(t, "hello") // it has the bytes already
	address := serve(t, ServerOptions{Token: shared, Modules: first, Store: first, Limit: limit})
	c := newClient(t, shared, nil)
	for range 2 {
		if err := c.Upload(t.Context(), moduleOf(wasm, sign), address); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Upload(t.Context(), moduleOf(wasm, nil), address); err != nil { // it does not remove the signature
		t.Fatal(err)
	}
	second := strictStore(t, ann)
	fetcher := NewClient(ClientOptions{Token: shared, Store: second, Limit: limit})
	defer fetcher.Close()
	if err := fetcher.Fetch(t.Context(), digest, []string{address}); err != nil {
		t.Fatal(err)
	}
	if got, err := second.Signature(digest); err != nil || !bytes.Equal(got, sign) {
		t.Errorf("%q, %v", got, err)
	}
}

// unread is a module whose bytes must not be read.
type unread struct {
	*module.Store
	t *testing.T
}

func (u unread) PutAs(io.Reader, string, []byte, int64) error {
	u.t.Error("bytes are read whose signature cannot count")
	return errors.New("read")
}

func TestFetchReadsNothingThatIsNotSigned(t *testing.T) {
	t.Parallel()
	ann, bob, wasm := signaturetest.New("ann"), signaturetest.New("bob"), []byte("hello")
	strict := strictStore(t, ann)
	for says, sign := range map[string][]byte{"no signature": nil, "not accepted": bob.Sign(wasm)} {
		there := newStore(t)
		if _, err := there.Put(bytes.NewReader(wasm), sign, limit); err != nil {
			t.Fatal(err)
		}
		address := serve(t, ServerOptions{Token: shared, Modules: there})
		c := NewClient(ClientOptions{Token: shared, Store: unread{strict, t}, Limit: limit})
		err := c.Fetch(t.Context(), module.Digest(wasm), []string{address})
		c.Close()
		if !errors.Is(err, signature.ErrUnsigned) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	// Its key is accepted, but it does not match the bytes.
	there := newStore(t)
	if _, err := there.Put(bytes.NewReader(wasm), ann.Sign([]byte("other")), limit); err != nil {
		t.Fatal(err)
	}
	c := NewClient(ClientOptions{Token: shared, Store: strict, Limit: limit})
	defer c.Close()
	err := c.Fetch(t.Context(), module.Digest(wasm), []string{serve(t, ServerOptions{Token: shared, Modules: there})})
	if !errors.Is(err, signature.ErrUnsigned) || !strings.Contains(err.Error(), "of other bytes") {
		t.Errorf("of other bytes: %v", err)
	}
	if held, err := strict.List(); err != nil || len(held) > 0 {
		t.Errorf("stored: %v, %v", held, err)
	}
}

func TestServerTakesWhatIsSigned(t *testing.T) {
	t.Parallel()
	ann, wasm := signaturetest.New("ann"), []byte("hello")
	strict := strictStore(t, ann)
	address := serve(t, ServerOptions{Token: shared, Modules: strict, Store: strict, Limit: limit})
	c := newClient(t, shared, nil)
	for says, sign := range map[string][]byte{
		"no signature": nil, "not accepted": signaturetest.New("bob").Sign(wasm), "of other bytes": ann.Sign([]byte("other")), "cannot be read": []byte("x"),
	} {
		if err := c.Upload(t.Context(), moduleOf(wasm, sign), address); err == nil || !strings.Contains(err.Error(), "422") {
			t.Errorf("%s: %v", says, err)
		}
	}
	if err := c.Upload(t.Context(), moduleOf(wasm, ann.Sign(wasm)), address); err != nil {
		t.Error(err)
	}
}

// A module whose signature will be refused is refused before its bytes are sent.
func TestServerReadsNothingThatIsNotSigned(t *testing.T) {
	t.Parallel()
	ann, wasm := signaturetest.New("ann"), []byte("hello")
	strict := unread{strictStore(t, ann), t}
	free := unread{newStore(t), t}
	if _, err := free.Put(bytes.NewReader(wasm), ann.Sign(wasm), limit); err != nil {
		t.Fatal(err)
	}
	for says, upload := range map[string]struct {
		to   unread
		sign []byte
	}{
		"no signature": {strict, nil}, "not accepted": {strict, signaturetest.New("bob").Sign(wasm)},
		"another signature": {free, signaturetest.New("bob").Sign(wasm)}, "not a signature": {free, []byte("x")},
	} {
		address := serve(t, ServerOptions{Token: shared, Modules: upload.to, Store: upload.to, Limit: limit})
		if err := newClient(t, shared, nil).Upload(t.Context(), moduleOf(wasm, upload.sign), address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

func TestSignatureHeader(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"?", "eA", "eB==", strings.Repeat("x", base64.StdEncoding.EncodedLen(signature.MaxSize)+4)} {
		if got, err := signatureIn(http.Header{signatureHeader: {value}}); err == nil {
			t.Errorf("%.20q is %q", value, got)
		}
	}
	h := http.Header{}
	setSignature(h, nil)
	if got, err := signatureIn(h); err != nil || got != nil || len(h) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}
