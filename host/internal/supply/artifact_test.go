package supply

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/internal/signaturetest"
)

const reference = "oci://registry.example/report:1"

// artifacts stands in for a registry of artifacts.
type artifacts struct {
	mu    sync.Mutex
	gives Artifact
	fault error
	asked int
}

func (s *artifacts) pull(context.Context, string) (Artifact, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.gives, s.fault
}

// of returns a registry that has the given module.
func of(wasm string) *artifacts {
	return &artifacts{gives: Artifact{Wasm: []byte(wasm), Manifest: "sha256:" + module.Digest([]byte("manifest of "+wasm))}}
}

// catalogOf returns the catalog of a server that starts with the given disk.
func catalogOf(t *testing.T, disk string, s *artifacts, f File, keys ...string) *Catalog {
	t.Helper()
	accepted, err := signature.ParseKeys(keys)
	if err != nil {
		t.Fatal(err)
	}
	store, err := module.Open(disk, accepted)
	if err != nil {
		t.Fatal(err)
	}
	return newCatalog(store, map[string]File{"m": f}, s.pull)
}

// A module is pulled once if its digest or the digest of its artifact is pinned. From
// then on the server starts without the registry of artifacts. Without a pin that is an
// error with advice.
func TestArtifactIsPulledOnceIfItIsPinned(t *testing.T) {
	t.Parallel()
	s, digest := of("code"), module.Digest([]byte("code"))
	for name, tt := range map[string]struct {
		file  File
		asked int // pulls by two starts
	}{
		"a tag": {File{Artifact: reference}, 2}, "the artifact": {File{Artifact: reference + "@" + s.gives.Manifest}, 1},
		"the module": {File{Artifact: reference, SHA256: digest}, 1}, "both": {File{Artifact: reference + "@" + s.gives.Manifest, SHA256: digest}, 1},
	} {
		dir, s := t.TempDir(), of("code")
		for range 2 {
			c := catalogOf(t, dir, s, tt.file)
			var jobs sync.WaitGroup
			for range 3 { // names of the same module
				jobs.Go(func() {
					if got, err := c.Digest(t.Context(), "m"); err != nil || got != digest {
						t.Errorf("%s: %q, %v", name, got, err)
					}
				})
			}
			jobs.Wait()
		}
		if s.asked != tt.asked {
			t.Errorf("%s: the registry is asked %d times", name, s.asked)
		}
		s.fault = errors.New("connection refused")
		_, err := catalogOf(t, dir, s, tt.file).Digest(t.Context(), "m")
		if tt.asked == 1 && err != nil || tt.asked == 2 && (err == nil || !strings.Contains(err.Error(), "refused; with @sha256:")) {
			t.Errorf("%s without the registry: %v", name, err)
		}
		if _, err := catalogOf(t, t.TempDir(), s, tt.file).Digest(t.Context(), "m"); err == nil || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s without registry and disk: %v", name, err)
		}
	}
}

// A module from a registry of artifacts must obey every rule for modules from elsewhere.
func TestArtifactsThatAreRefused(t *testing.T) {
	t.Parallel()
	ann, bob := signaturetest.New("ann"), signaturetest.New("bob")
	signed := of("code")
	signed.gives.Signature = ann.Sign([]byte("code"))
	if _, err := catalogOf(t, t.TempDir(), signed, File{Artifact: reference}, ann.Public).Digest(t.Context(), "m"); err != nil {
		t.Errorf("signed: %v", err)
	}
	large := of(strings.Repeat("x", module.MaxSize+1))
	other := File{Artifact: reference, SHA256: module.Digest([]byte("other"))}
	for _, tt := range []struct {
		name string
		from *artifacts
		file File
		keys []string
		want error
	}{
		{"unsigned", of("code"), File{Artifact: reference}, []string{ann.Public}, signature.ErrUnsigned},
		{"signed by another", signed, File{Artifact: reference}, []string{bob.Public}, signature.ErrUnsigned},
		{"not by the keys of its name", signed, File{Artifact: reference, Keys: []string{bob.Public}}, nil, signature.ErrUnsigned},
		{"another digest", of("code"), other, nil, module.ErrPin},
		{"too large", large, File{Artifact: reference}, nil, module.ErrTooBig},
	} {
		c := catalogOf(t, t.TempDir(), tt.from, tt.file, tt.keys...)
		if _, err := c.Digest(t.Context(), "m"); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	// The two pins are of different modules.
	dir := t.TempDir()
	if _, err := catalogOf(t, dir, of("other"), File{Artifact: reference}).Digest(t.Context(), "m"); err != nil {
		t.Fatal(err)
	}
	both := File{Artifact: reference + "@" + signed.gives.Manifest, SHA256: other.SHA256}
	if _, err := catalogOf(t, dir, of("code"), both).Digest(t.Context(), "m"); !errors.Is(err, module.ErrPin) {
		t.Errorf("two pins: %v", err)
	}
}

// A registry that does not answer is asked again after a while, not earlier.
func TestPullIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := of("code")
		s.fault = errors.New("connection refused")
		c := catalogOf(t, dir, s, File{Artifact: reference})
		for range 2 {
			if _, err := c.Digest(t.Context(), "m"); err == nil || s.asked != 1 {
				t.Errorf("asked %d times: %v", s.asked, err)
			}
		}
		s.fault = nil
		<-time.After(pullAgain) // virtual
		if _, err := c.Digest(t.Context(), "m"); err != nil || s.asked != 2 {
			t.Errorf("asked %d times: %v", s.asked, err)
		}
		// A cancelled caller leaves no error to others.
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		left := newCatalog(c.disk, c.files, func(ctx context.Context, _ string) (Artifact, error) { return Artifact{}, ctx.Err() })
		if _, err := left.Digest(gone, "m"); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		left.pull = s.pull
		if _, err := left.Digest(t.Context(), "m"); err != nil {
			t.Error(err)
		}
	})
}
