package meter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

var errNoToolchain = errors.New("the toolchain is not there")

// builder returns a function that builds a guest once, with env added to the environment.
// The last argument of the command is the output.
func builder(dir string, env []string, command ...string) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		if _, err := exec.LookPath(command[0]); err != nil {
			return nil, errNoToolchain
		}
		out, err := os.MkdirTemp("", "guest")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(out)
		file := filepath.Join(out, "guest.wasm")
		cmd := exec.Command(command[0], append(slices.Clone(command[1:]), file)...)
		cmd.Dir = filepath.Join("testdata", dir)
		cmd.Env = append(os.Environ(), env...)
		if msg, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", dir, err, msg)
		}
		return os.ReadFile(file)
	})
}

var (
	goGuest = builder("guest-go", []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"},
		"go", "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o")
	rustGuest = builder("guest-rust", nil, "rustc", "--target=wasm32-unknown-unknown", "--crate-type=cdylib", "-Copt-level=s", "-Clto", "-Cpanic=abort", "-Cstrip=symbols", "guest.rs", "-o")
)

// host is a runtime for guests built by toolchains: WASI, the meter, and a stub for every
// other import.
type host struct {
	rt     wazero.Runtime
	meters *meters
	asked  []string // calls of stubs
}

func newHost(t testing.TB, c wazero.RuntimeConfig) *host {
	t.Helper()
	rt := wazero.NewRuntimeWithConfig(t.Context(), c)
	t.Cleanup(func() { _ = rt.Close(context.Background()) })
	wasi_snapshot_preview1.MustInstantiate(t.Context(), rt)
	return &host{rt: rt, meters: newMeters(t, rt, 1_000_000)}
}

func (h *host) start(t testing.TB, wasm []byte, stdout *bytes.Buffer) api.Module {
	t.Helper()
	c, err := h.rt.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	h.stub(t, c)
	m, err := h.rt.InstantiateModule(t.Context(), c, wazero.NewModuleConfig().WithStdout(stdout).WithStderr(stdout).WithStartFunctions(ExportStart))
	if err != nil {
		t.Fatal(err)
	}
	if f := m.ExportedFunction("_initialize"); f != nil {
		if _, err := f.Call(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// stub makes all other imports return 0.
func (h *host) stub(t testing.TB, c wazero.CompiledModule) {
	t.Helper()
	others := map[string]wazero.HostModuleBuilder{}
	for _, f := range c.ImportedFunctions() {
		module, name, _ := f.Import()
		if module == ImportModule || module == wasi_snapshot_preview1.ModuleName {
			continue
		}
		if others[module] == nil {
			others[module] = h.rt.NewHostModuleBuilder(module)
		}
		others[module].NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			call := name
			for i, typ := range f.ParamTypes() {
				if typ == api.ValueTypeI32 {
					stack[i] = uint64(uint32(stack[i])) // the upper half may be anything
				}
				call += fmt.Sprintf(" %#x", stack[i])
			}
			h.asked = append(h.asked, call)
			for i := range f.ResultTypes() {
				stack[i] = 0
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range others {
		if _, err := b.Instantiate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGoGuest runs a guest of the Go toolchain, with goroutines, a panic and the garbage
// collector. Its output must equal that of the original guest.
func TestGoGuest(t *testing.T) {
	t.Parallel()
	wasm := built(t, goGuest)
	res, err := rewritten(wasm, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var outs [2]bytes.Buffer
	for i, w := range [][]byte{wasm, res.Wasm} {
		h := newHost(t, wazero.NewRuntimeConfig())
		m := h.start(t, w, &outs[i])
		if _, err := m.ExportedFunction("work").Call(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i == 1 && h.meters.used(m) < 1_000_000 {
			t.Errorf("fuel %d", h.meters.used(m))
		}
	}
	if !bytes.Equal(outs[0].Bytes(), outs[1].Bytes()) || !bytes.Contains(outs[0].Bytes(), []byte("recovered: runtime error: index out of range [285]")) {
		t.Errorf("as built:\n%s\nrewritten:\n%s", &outs[0], &outs[1])
	}
	t.Logf("%d bytes became %d, dropped %q", len(wasm), len(res.Wasm), res.Dropped)
}

// TestExamples calls every export of those examples that were built. Original and
// rewritten guests must make the same host calls. The engine interprets them, which is
// faster than compiling them.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "build", "*.wasm"))
	if len(files) == 0 {
		t.Skip("no example is built: make guests")
	}
	for _, file := range files {
		wasm, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		res, err := rewritten(wasm, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var seen [2][]string
		for i, w := range [][]byte{wasm, res.Wasm} {
			h := newHost(t, wazero.NewRuntimeConfigInterpreter())
			var out bytes.Buffer
			m := h.start(t, w, &out)
			var names []string
			for name, f := range m.ExportedFunctionDefinitions() {
				if len(f.ParamTypes()) == 0 && name != "_initialize" {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			for _, name := range names {
				got, err := m.ExportedFunction(name).Call(t.Context())
				h.asked = append(h.asked, fmt.Sprintf("%s gives %#x, %s", name, got, trap(err)))
			}
			seen[i] = append(h.asked, out.String())
		}
		if !slices.Equal(seen[0], seen[1]) || len(seen[0]) < 2 {
			t.Errorf("%s: as built:\n%q\nrewritten:\n%q", filepath.Base(file), seen[0], seen[1])
		}
	}
}

func built(t testing.TB, build func() ([]byte, error)) []byte {
	t.Helper()
	wasm, err := build()
	if errors.Is(err, errNoToolchain) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}
