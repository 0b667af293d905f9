package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi/conformance"
)

// The sandbox passes the kit's cases with the kit's modules.
func TestConformance(t *testing.T) {
	t.Parallel()
	j, err := NewAdapter()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	cases, err := conformance.HostCases(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range conformance.Play(t.Context(), j, cases) {
		if v.Err != nil {
			t.Errorf("%s (%s): %v", v.Case.Name, v.Case.Rule, v.Err)
		}
	}
}

// The sandbox passes the cases with the guest of each SDK that was built.
func TestGuestConformance(t *testing.T) {
	t.Parallel()
	for _, sdk := range []string{"go", "tinygo", "rust", "assemblyscript", "c"} {
		t.Run(sdk, func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join("..", "..", "build", "conformance")
			g := conformance.Guest{Name: sdk}
			var err error
			if g.Module, err = os.ReadFile(filepath.Join(folder, sdk+".wasm")); err == nil {
				g.Script, err = os.ReadFile(filepath.Join(folder, sdk+"-script.wasm"))
			}
			if err != nil {
				omit(t, fmt.Sprintf("no guest of this SDK: make guests (%v)", err))
			}
			j, err := NewAdapter()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = j.Close() }() // its errors are among the faults of the cases
			for _, v := range conformance.Play(t.Context(), j, conformance.GuestCases(g)) {
				if v.Err != nil {
					t.Errorf("%s (%s): %v", v.Case.Name, v.Case.Rule, v.Err)
				}
			}
		})
	}
}

// omit skips a test whose tools are missing. In strict mode it fails the test instead.
func omit(t *testing.T, why string) {
	t.Helper()
	if strings.TrimSpace(os.Getenv("WASMJOBD_STRICT")) == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}
