package supply

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// A catalog reads a file once. Only Put and a copy may read it again.
func TestCatalogReadsAFileOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	wasm, err := os.ReadFile(kitFile)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.wasm")
	pin := strings.Repeat("0", 64)
	c := s.NewCatalog(map[string]File{"m": {Path: path}, "pinned": {Path: path, SHA256: "sha256:" + pin}})
	for _, name := range []string{"m", "pinned"} {
		if _, err := c.Digest(t.Context(), name); !errors.Is(err, module.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c.Expected(t.Context(), "m") != "" || c.Expected(t.Context(), "pinned") != pin || c.Expected(t.Context(), "other") != "" {
		t.Errorf("without the file: %q, %q, %q", c.Expected(t.Context(), "m"), c.Expected(t.Context(), "pinned"), c.Expected(t.Context(), "other"))
	}
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Digest(t.Context(), "m"); err == nil {
		t.Error("the file was read twice")
	}
	copied := c.clone()
	first, err := copied.Digest(t.Context(), "m")
	if err != nil {
		t.Fatal(err) // a copy reads again the files that could not be read
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := copied.clone().Digest(t.Context(), "m"); err != nil || got != first {
		t.Errorf("a copy forgot what was read: %q, %v", got, err)
	}
	copied.Put("m", File{Path: path})
	if _, err := copied.Digest(t.Context(), "m"); err == nil {
		t.Error("Put did not have the file read again")
	}
	copied.Remove("m")
	if _, err := copied.Digest(t.Context(), "m"); err == nil || len(copied.Files()) != 1 || len(c.Files()) != 2 {
		t.Errorf("removed: %v; %d and %d files", err, len(copied.Files()), len(c.Files()))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A module of the catalog is found by its digest under any name, and Hold keeps it.
func TestHoldTakesAFileOfTheCatalog(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	digest, err := s.NewCatalog(map[string]File{"m": {Path: kitFile}}).Digest(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.o.DataDir, "modules", digest+".wasm")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Hold(t.Context(), digest); err == nil {
		t.Error("it held a module that is nowhere")
	}
	s.SetCatalog(s.NewCatalog(map[string]File{"other": {Path: kitFile}}))
	release, err := s.Hold(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.modules) != 1 {
		t.Errorf("leased: %v", s.modules)
	}
	if release(); len(s.modules) != 0 {
		t.Errorf("leased after its release: %v", s.modules)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A module that the disk has lost comes from the file with its pin again, however the pin is written.
func TestPinnedFileIsStoredAgain(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	wasm, err := os.ReadFile(kitFile)
	if err != nil {
		t.Fatal(err)
	}
	digest := module.Digest(wasm)
	for _, pin := range []string{"", digest, "sha256:" + digest} {
		c := s.NewCatalog(map[string]File{"m": {Path: kitFile, SHA256: pin}})
		if !c.storeFrom(t.Context(), digest) {
			t.Errorf("the file with the pin %q is not taken", pin)
		}
	}
	other := s.NewCatalog(map[string]File{"m": {Path: kitFile, SHA256: strings.Repeat("0", 64)}})
	if other.storeFrom(t.Context(), digest) {
		t.Error("a file with another pin is taken")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
