package admin

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/internal/smalldisk"
)

// A full disk refuses an upload with a hint, keeps nothing of it, and accepts it later.
func TestUploadToAFullDisk(t *testing.T) {
	t.Parallel()
	dir, wasm := smalldisk.Dir(t, "1m"), strings.Repeat("m", 600_000)
	h, fill := pushing(dir), filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 700_000), 0o600); err != nil {
		t.Fatal(err)
	}
	put := modulesPath + "/" + digestOf(wasm)
	for method, path := range map[string]string{http.MethodPost: modulesPath, http.MethodPut: put} {
		w := answered(t, h, method, path, wasm, wasmType)
		if p := problemIn(t, w); w.Code != http.StatusServiceUnavailable || p.Code != codeUnavailable || !strings.Contains(p.Detail, "is full; make room") {
			t.Errorf("%s is answered %d %s (%s)", method, w.Code, p.Code, p.Detail)
		}
		if all := kept(t, dir); len(all) > 0 {
			t.Errorf("%s keeps %q", method, all)
		}
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if w := answered(t, h, http.MethodPut, put, wasm, wasmType); w.Code != http.StatusNoContent || len(kept(t, dir)) != 1 {
		t.Errorf("later: %d %s, kept %q", w.Code, w.Body, kept(t, dir))
	}
}
