package supply

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/peer"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

// strictStore returns a store that loads only modules signed by who.
func strictStore(t *testing.T, who signaturetest.Signer) *Store {
	t.Helper()
	keys, err := signature.ParseKeys([]string{who.Public})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(Options{DataDir: t.TempDir(), Refuse: never, Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func kitModule(t *testing.T) []byte {
	t.Helper()
	wasm, err := os.ReadFile(kitFile)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// keep uploads a module.
func keep(dir string, wasm, sign []byte, keys signature.Keys) error {
	staged, err := Dir(dir).Stage(bytes.NewReader(wasm), keys)
	if err != nil {
		return err
	}
	return errors.Join(staged.Keep(module.Digest(wasm), sign), staged.Close())
}

// A module without the required signature is not loaded, from whatever source.
func TestUnsignedModulesAreNotLoaded(t *testing.T) {
	t.Parallel()
	ann, bob, wasm := signaturetest.New("ann"), signaturetest.New("bob"), kitModule(t)
	s, digest := strictStore(t, ann), module.Digest(wasm)
	refused := func(way string, err error) {
		t.Helper()
		if !errors.Is(err, signature.ErrUnsigned) {
			t.Errorf("%s: %v", way, err)
		}
	}
	_, err := s.NewCatalog(map[string]File{"m": {Path: kitFile}}).Digest(t.Context(), "m")
	refused("a file", err)
	refused("an upload", keep(s.o.DataDir, wasm, bob.Sign(wasm), s.o.Keys))
	// It was stored when no signature was required, or another signer counted.
	if err := keep(s.o.DataDir, wasm, nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err = s.Hold(t.Context(), digest)
	refused("the disk", err)
	if _, later := errors.AsType[*FetchError](err); !later {
		t.Errorf("it is not tried again: %v", err)
	}
	address := offering(t, wasm, bob.Sign(wasm))
	_, err = s.lease(t.Context(), digest, func(context.Context) ([]string, error) { return []string{address}, nil })
	refused("another server", err)
	// Another server has it with a valid signature.
	address = offering(t, wasm, ann.Sign(wasm))
	if _, err = s.lease(t.Context(), digest, func(context.Context) ([]string, error) { return []string{address}, nil }); err != nil {
		t.Errorf("signed elsewhere: %v", err)
	}
	s.release(digest)
}

// offering serves a module with a signature until the test ends.
func offering(t *testing.T, wasm, sign []byte) string {
	t.Helper()
	there, err := module.Open(t.TempDir(), nil)
	if err == nil {
		_, err = there.Put(bytes.NewReader(wasm), sign, module.MaxSize)
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := peer.Listen(t.Context(), "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := peer.NewServer(peer.ServerOptions{Address: l.Addr().String(), Modules: there}).Serve(ctx, l); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		serving.Wait()
	})
	return l.Addr().String()
}

// The keys of a name apply to every module that runs under the name, even if the registry
// chooses the module, from the moment that they are set.
func TestKeysOfAName(t *testing.T) {
	t.Parallel()
	ann, bob, wasm := signaturetest.New("ann"), signaturetest.New("bob"), kitModule(t)
	s := newStore(t)
	path := filepath.Join(t.TempDir(), "m.wasm")
	for name, b := range map[string][]byte{path: wasm, path + ".minisig": bob.Sign(wasm)} {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	named := func(keys ...string) *Catalog { return s.NewCatalog(map[string]File{"m": {Path: path, Keys: keys}}) }
	if _, err := named(ann.Public).Digest(t.Context(), "m"); !errors.Is(err, signature.ErrUnsigned) || !strings.Contains(err.Error(), "module m: ") {
		t.Errorf("the file: %v", err)
	}
	if _, err := named(ann.Public, bob.Public).Digest(t.Context(), "m"); err != nil {
		t.Errorf("the file with a key more: %v", err)
	}
	c := s.NewCode(nil)
	j := simpleJob(module.Digest(wasm))
	for _, tt := range []struct {
		keys  []string
		loads bool
	}{{nil, true}, {[]string{ann.Public}, false}, {[]string{bob.Public}, true}} {
		s.SetCatalog(named(tt.keys...))
		if err := c.Load(t.Context(), j); (err == nil) != tt.loads || err != nil && !errors.Is(err, signature.ErrUnsigned) {
			t.Errorf("%q: %v", tt.keys, err)
		}
		if c.Ready(j) != tt.loads || (c.Fault() == "") != tt.loads {
			t.Errorf("%q: ready %v, fault %q", tt.keys, c.Ready(j), c.Fault())
		}
	}
	c.Close()
	if len(s.modules) != 0 {
		t.Errorf("leased: %v", s.modules)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
