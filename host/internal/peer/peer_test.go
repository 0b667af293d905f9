package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const limit = 1 << 10

// newStore returns a store that contains the given modules.
func newStore(t *testing.T, modules ...string) *module.Store {
	t.Helper()
	s, err := module.Open(filepath.Join(t.TempDir(), "modules"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if _, err := s.Put(strings.NewReader(m), nil, limit); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// serve runs a server until the test ends and returns its address.
func serve(t *testing.T, o ServerOptions) string {
	t.Helper()
	l, err := Listen(t.Context(), "127.0.0.1:0", o.Token)
	if err != nil {
		t.Fatal(err)
	}
	if o.Address == "" {
		o.Address = l.Addr().String()
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := NewServer(o).Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return l.Addr().String()
}

func newClient(t *testing.T, token string, s Store) *Client {
	t.Helper()
	c := NewClient(ClientOptions{Token: token, Store: s, Limit: limit})
	t.Cleanup(c.Close)
	return c
}

func TestModuleGoesFromServerToServer(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "open sesame"} {
		address := serve(t, ServerOptions{Token: token, Modules: newStore(t, "hello")})
		mine := newStore(t)
		digest := module.Digest([]byte("hello"))
		if err := newClient(t, token, mine).Fetch(t.Context(), digest, []string{address}); err != nil {
			t.Fatal(err)
		}
		if b, err := mine.Get(digest); err != nil || string(b) != "hello" {
			t.Errorf("%q, %v", b, err)
		}
	}
}

func TestServerRefuses(t *testing.T) {
	t.Parallel()
	const token = "open sesame"
	digest := module.Digest([]byte("hello"))
	address := serve(t, ServerOptions{Token: token, Modules: newStore(t, "hello")})
	now := time.Now()
	for _, tt := range []struct {
		name, method, path, sign string
		status                   int
	}{
		{"get", "GET", modulesPath + digest, sign(token, schemeFetch, address, digest, now), 200},
		{"head", "HEAD", modulesPath + digest, sign(token, schemeFetch, address, digest, now), 200},
		{"unsigned", "GET", modulesPath + digest, "", 403},
		{"bearer", "GET", modulesPath + digest, "Bearer " + token, 403},
		{"wrong_token", "GET", modulesPath + digest, sign("other", schemeFetch, address, digest, now), 403},
		{"for_another_server", "GET", modulesPath + digest, sign(token, schemeFetch, "10.0.0.1:1", digest, now), 403},
		{"for_another_module", "GET", modulesPath + digest, sign(token, schemeFetch, address, module.Digest(nil), now), 403},
		{"old", "GET", modulesPath + digest, sign(token, schemeFetch, address, digest, now.Add(-time.Hour)), 403},
		{"of_the_future", "GET", modulesPath + digest, sign(token, schemeFetch, address, digest, now.Add(time.Hour)), 403},
		{"absent", "GET", modulesPath + module.Digest(nil), sign(token, schemeFetch, address, module.Digest(nil), now), 404},
		{"post", "POST", modulesPath + digest, sign(token, schemeFetch, address, digest, now), 405},
		{"put_without_store", "PUT", modulesPath + digest, sign(token, schemeUpload, address, digest, now), 405},
		{"root", "GET", "/", "", 404},
		{"list", "GET", modulesPath, "", 404},
		{"path", "GET", modulesPath + "../../etc/passwd", "", 404},
		{"encoded_path", "GET", modulesPath + "..%2f..%2fetc%2fpasswd", "", 404},
		{"upper_case", "GET", modulesPath + strings.ToUpper(digest), "", 404},
		{"query", "GET", modulesPath + digest + "?x=1", sign(token, schemeFetch, address, digest, now), 404},
		{"large_head", "GET", modulesPath + digest, strings.Repeat("x", 64<<10), 431},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://"+address+tt.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", tt.sign)
			r.Close = true
			transport := &http.Transport{}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != tt.status {
				text, err := io.ReadAll(answer.Body)
				t.Errorf("got %d (%s, %v), want %d", answer.StatusCode, text, err, tt.status)
			}
		})
	}
}

func TestListenNeedsATokenBeyondThisMachine(t *testing.T) {
	t.Parallel()
	if l, err := Listen(t.Context(), "0.0.0.0:0", ""); err == nil {
		t.Errorf("it listens on %s", l.Addr())
		_ = l.Close()
	}
	l, err := Listen(t.Context(), "0.0.0.0:0", "token")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// bad is a faulty server.
func bad(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handle)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func TestBadPeersAreFailedAttempts(t *testing.T) {
	t.Parallel()
	digest := module.Digest([]byte("hello"))
	good := serve(t, ServerOptions{Modules: newStore(t, "hello")})
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	for _, tt := range []struct {
		name   string
		handle http.HandlerFunc
		want   string
	}{
		{"lies", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hullo") }, "not the pinned one"},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, "not the pinned one"},
		{"says_it_is_large", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(limit+1))
			_, _ = w.Write(bytes.Repeat([]byte("x"), limit+1))
		}, "the limit is"},
		{"sends_without_end", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 4096)); err != nil {
					return
				}
			}
		}, "too big"},
		{"breaks_off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "5")
			_, _ = io.WriteString(w, "he")
		}, "unexpected EOF"},
		{"redirects", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://"+good+r.URL.Path, http.StatusFound)
		}, "it answered 302"},
		{"refuses_with_junk", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = w.Write(bytes.Repeat([]byte("\x1b[31mred\xff\n"), 10_000))
		}, "it answered 500"},
		{"large_head", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, "exceeded"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			err := newClient(t, "", store).Fetch(t.Context(), digest, []string{bad(t, tt.handle)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err != nil && (len(err.Error()) > 1000 || strings.Contains(err.Error(), "\x1b")) {
				t.Errorf("%d bytes: %q", len(err.Error()), err)
			}
			if all, err := store.List(); err != nil || len(all) > 0 {
				t.Errorf("it was kept: %v, %v", all, err)
			}
		})
	}
	t.Run("is_silent", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{})
		silent := bad(t, func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			select {
			case <-r.Context().Done():
			case <-forever:
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		if err := newClient(t, "", newStore(t)).Fetch(ctx, digest, []string{silent}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("others_are_asked", func(t *testing.T) {
		t.Parallel()
		lies := bad(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hullo") })
		for range 10 { // the order is random
			store := newStore(t)
			if err := newClient(t, "", store).Fetch(t.Context(), digest, []string{lies, "127.0.0.1:1", "no address", good}); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Get(digest); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		if err := newClient(t, "", newStore(t)).Fetch(t.Context(), digest, nil); !errors.Is(err, ErrNoPeer) {
			t.Error(err)
		}
	})
}

func moduleOf(wasm, sign []byte) Module {
	return Module{Digest: module.Digest(wasm), Bytes: bytes.NewReader(wasm), Size: int64(len(wasm)), Signature: sign}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	const token = "open sesame"
	hello := []byte("hello")
	for _, tt := range []struct {
		name            string
		server, token   string // tokens
		wasm            []byte
		stored, refused string
	}{
		{name: "brought", server: token, token: token, wasm: hello, stored: "hello"},
		{name: "large", server: token, token: token, wasm: make([]byte, limit+1), refused: "it answered 413: the module is too big; the limit is 1024 bytes"},
		{name: "wrong_token", server: token, token: "other", wasm: hello, refused: "it answered 403 without proof of the token"},
		{name: "unsigned", server: token, wasm: hello, refused: "it answered 403"},
		{name: "server_without_token", token: token, wasm: hello, refused: "it answered 404 without proof of the token"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := newStore(t)
			address := serve(t, ServerOptions{Token: tt.server, Modules: store, Store: store, Limit: limit})
			err := newClient(t, tt.token, nil).Upload(t.Context(), moduleOf(tt.wasm, nil), address)
			if tt.refused == "" && err != nil || tt.refused != "" && (err == nil || !strings.Contains(err.Error(), tt.refused)) {
				t.Errorf("got %v, want %q", err, tt.refused)
			}
			if got, _ := store.Get(module.Digest(tt.wasm)); string(got) != tt.stored {
				t.Errorf("%q is in the store", got)
			}
		})
	}
}

// A server without the token receives no module.
func TestOnlyServersWithTheTokenGetModules(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	listener := bad(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method
		w.Header().Set(proofHeader, proofOf("guess", r.Header.Get("Authorization")))
		w.WriteHeader(http.StatusNotFound)
	})
	err := newClient(t, "open sesame", nil).Upload(t.Context(), moduleOf([]byte("hello"), nil), listener)
	if err == nil || !strings.Contains(err.Error(), "without proof of the token") {
		t.Error(err)
	}
	if method := <-asked; method != http.MethodHead || len(asked) > 0 {
		t.Errorf("asked by %s, and %d times more", method, len(asked))
	}
}

// A server stores an uploaded module only if it has the signed digest and is not
// too big.
func TestUploadRefusesBadModules(t *testing.T) {
	t.Parallel()
	const token = "open sesame"
	store := newStore(t)
	address := serve(t, ServerOptions{Token: token, Modules: store, Store: store, Limit: limit})
	digest := module.Digest([]byte("hello"))
	now := time.Now()
	for _, tt := range []struct {
		name, sign string
		body       io.Reader // of unknown length
		status     int
	}{
		{"other_bytes", sign(token, schemeUpload, address, digest, now), io.MultiReader(strings.NewReader("hullo")), 422},
		{"nothing", sign(token, schemeUpload, address, digest, now), io.MultiReader(), 422},
		{"too_much", sign(token, schemeUpload, address, digest, now), io.MultiReader(bytes.NewReader(make([]byte, limit+1))), 413},
		{"signed_for_reading", sign(token, schemeFetch, address, digest, now), io.MultiReader(strings.NewReader("hello")), 403},
		{"old", sign(token, schemeUpload, address, digest, now.Add(-time.Hour)), io.MultiReader(strings.NewReader("hello")), 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://"+address+modulesPath+digest, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", tt.sign)
			r.Header.Set("Expect", "100-continue")
			r.Close = true
			transport := &http.Transport{ExpectContinueTimeout: headTimeout}
			answer, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != tt.status {
				t.Errorf("got %d, want %d", answer.StatusCode, tt.status)
			}
			if all, err := store.List(); err != nil || len(all) > 0 {
				t.Errorf("it was kept: %v, %v", all, err)
			}
		})
	}
}

// A client never sends the token itself.
func TestTokenIsNotSent(t *testing.T) {
	t.Parallel()
	const token = "open sesame"
	requests := make(chan string, 1)
	spy := bad(t, func(_ http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		_ = r.Write(&b)
		requests <- b.String()
	})
	digest := module.Digest([]byte("hello"))
	_ = newClient(t, token, newStore(t)).Fetch(t.Context(), digest, []string{spy})
	request := <-requests
	if strings.Contains(request, token) || !strings.Contains(request, schemeFetch) {
		t.Error(request)
	}
	if target := serve(t, ServerOptions{Token: token, Modules: newStore(t, "hello")}); verify(headerOf(request), token, schemeFetch, target, digest, time.Now()) {
		t.Error("a signature for one server is valid at another")
	}
}

func headerOf(request string) string {
	_, rest, _ := strings.Cut(request, "Authorization: ")
	value, _, _ := strings.Cut(rest, "\r\n")
	return value
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"10.0.0.7:7071", "[::1]:1", "worker-3.internal:65535"} {
		if err := CheckAddress(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, wrong := range []string{"", "10.0.0.7", ":7071", "a:0", "a:65536", "a:http", "a/b:1", "u@h:1", "a b:1", "h\n:1", "ä:1", strings.Repeat("a", 300) + ":1"} {
		if CheckAddress(wrong) == nil {
			t.Errorf("%q is accepted as an address", wrong)
		}
	}
}

func FuzzCheckAddress(f *testing.F) {
	for _, s := range []string{"10.0.0.7:7071", "[::1]:1", "a:0", "a/b:1", "u@h:1", "[fe80::1%25x]:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if CheckAddress(address) != nil {
			return
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+modulesPath+"x", http.NoBody)
		if err != nil {
			return // it counts as another failed attempt
		}
		if r.URL.Path != modulesPath+"x" || r.URL.User != nil || r.URL.RawQuery != "" {
			t.Errorf("%q: %v", address, r.URL)
		}
	})
}

func TestOpenGivesWhatIsThere(t *testing.T) {
	t.Parallel()
	s := newStore(t, "hello")
	r, n, err := s.Open(module.Digest([]byte("hello")))
	if err != nil || n != 5 {
		t.Fatal(n, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := s.Open(module.Digest(nil)); !errors.Is(err, module.ErrNotFound) {
		t.Error(err)
	}
	if _, _, err := s.Open("../x"); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func FuzzSigned(f *testing.F) {
	at := time.Unix(1_700_000_000, 0)
	f.Add(sign("token", schemeFetch, "a:1", "digest", at))
	for _, s := range []string{"", schemeFetch, schemeFetch + " 1700000000 ", schemeFetch + " x y", schemeFetch + " 9223372036854775807 00", schemeFetch + " -9223372036854775808 00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if !verify(header, "token", schemeFetch, "a:1", "digest", at) {
			return
		}
		for _, other := range [][3]string{{"other", "a:1", "digest"}, {"token", "b:1", "digest"}, {"token", "a:1", "other"}} {
			if verify(header, other[0], schemeFetch, other[1], other[2], at) {
				t.Errorf("%q counts for %v, too", header, other)
			}
		}
	})
}
