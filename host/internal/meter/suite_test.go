package meter

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// coreSuite finds the compiled WebAssembly core test suite in the engine's release in the
// module cache.
var coreSuite = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "v2", "testdata", "address.json"))
	}
	return dir, err
})

func suiteDir(t testing.TB) string {
	t.Helper()
	dir, err := coreSuite()
	if err != nil {
		if os.Getenv("WASMJOBD_STRICT") == "1" {
			t.Fatal(err)
		}
		t.Skipf("the core test suite is not there: %v", err)
	}
	return dir
}

// TestCoreSuite runs the core test suite, version 2, rewritten. Every assertion must
// hold, and the fuel must be the same for slices of any size.
func TestCoreSuite(t *testing.T) {
	t.Parallel()
	dir := suiteDir(t)
	files, _ := filepath.Glob(filepath.Join(dir, "v2", "testdata", "*.json"))
	if len(files) < 100 {
		t.Fatalf("%d files of the core test suite", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if testing.Short() && strings.HasPrefix(name, "simd_") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			large := newScript(t, dir, math.MaxInt32)
			large.run(file)
			if strings.HasPrefix(name, "simd_") {
				return // they contain hardly any branches
			}
			small := newScript(t, dir, 7)
			small.run(file)
			if large.fuel() != small.fuel() {
				t.Errorf("fuel %d with small slices, %d with large ones", small.fuel(), large.fuel())
			}
		})
	}
}

type script struct {
	t       *testing.T
	dir     string
	rt      wazero.Runtime
	meters  *meters
	modules map[string]api.Module
	current api.Module
	counted []api.Module // the modules whose fuel is compared
}

func newScript(t *testing.T, dir string, slice int64) *script {
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig())
	t.Cleanup(func() { _ = rt.Close(t.Context()) })
	s := &script{t: t, dir: dir, rt: rt, modules: map[string]api.Module{}, meters: newMeters(t, rt, slice)}
	host, err := os.ReadFile(filepath.Join(dir, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.InstantiateWithConfig(t.Context(), host, wazero.NewModuleConfig().WithName("spectest")); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *script) fuel() (sum int64) {
	for _, m := range s.counted {
		sum += s.meters.used(m)
	}
	return sum
}

type scriptValue struct {
	Type     string          `json:"type"`
	LaneType string          `json:"lane_type"`
	Value    json.RawMessage `json:"value"`
}

type scriptCommand struct {
	Type       string `json:"type"`
	Line       int    `json:"line"`
	Name       string `json:"name"`
	Filename   string `json:"filename"`
	As         string `json:"as"`
	ModuleType string `json:"module_type"`
	Text       string `json:"text"`
	Action     struct {
		Type   string        `json:"type"`
		Module string        `json:"module"`
		Field  string        `json:"field"`
		Args   []scriptValue `json:"args"`
	} `json:"action"`
	Expected []scriptValue `json:"expected"`
}

func (s *script) run(file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	var base struct{ Commands []scriptCommand }
	if err := json.Unmarshal(raw, &base); err != nil {
		s.t.Fatal(err)
	}
	for i, c := range base.Commands {
		as := ""
		if next := i + 1; c.Type == "module" && next < len(base.Commands) && base.Commands[next].Type == "register" {
			as = base.Commands[next].As // the engine sets a module's name on instantiation
		}
		if err := s.command(c, filepath.Dir(file), as); err != nil {
			s.t.Errorf("line %d, %s: %v", c.Line, c.Type, err)
		}
	}
}

func (s *script) command(c scriptCommand, dir, as string) error {
	switch c.Type {
	case "module":
		m, err := s.instantiate(filepath.Join(dir, c.Filename), as)
		if err != nil {
			return err
		}
		s.current = m
		s.counted = append(s.counted, m)
		if c.Name != "" {
			s.modules[c.Name] = m
		}
	case "register":
	case "action", "assert_return":
		got, types, err := s.act(c)
		if err != nil {
			return err
		}
		return expectValues(got, types, c.Expected)
	case "assert_trap":
		_, _, err := s.act(c)
		if want := trapText(c.Text); err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want a trap with %q", err, want)
		}
	case "assert_exhaustion":
		// The depth of a stack depends on when the engine last enlarged it, and so on the
		// calls of yield.
		s.counted = slices.DeleteFunc(s.counted, func(m api.Module) bool { return m == s.current })
		if _, _, err := s.act(c); err == nil || !strings.Contains(err.Error(), "stack overflow") {
			return fmt.Errorf("got %w, want a stack overflow", err)
		}
	case "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
		if c.ModuleType == "text" {
			return nil
		}
		_, err := s.instantiate(filepath.Join(dir, c.Filename), "")
		if c.Type == "assert_uninstantiable" && c.Text == "out of bounds table access" {
			return err // the engine accepts these, as its own tests say
		}
		if err == nil {
			return errors.New("a bad module was taken")
		}
	default:
		return errors.New("a command that is not known")
	}
	return nil
}

func (s *script) instantiate(file, as string) (api.Module, error) {
	wasm, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatal(err)
	}
	// Tables of these tests may grow to their declared limits.
	res, err := rewritten(wasm, Options{MaxTable: 1 << 27})
	if err != nil {
		return nil, err
	}
	return s.rt.InstantiateWithConfig(s.t.Context(), res.Wasm, wazero.NewModuleConfig().WithName(as).WithStartFunctions(ExportStart))
}

func (s *script) act(c scriptCommand) ([]uint64, []api.ValueType, error) {
	m := s.current
	if c.Action.Module != "" {
		m = s.modules[c.Action.Module]
	}
	if c.Action.Type == "get" {
		g := m.ExportedGlobal(c.Action.Field)
		return []uint64{g.Get()}, []api.ValueType{g.Type()}, nil
	}
	f := m.ExportedFunction(c.Action.Field)
	var args []uint64
	for _, a := range c.Action.Args {
		bits, err := a.bits()
		if err != nil {
			return nil, nil, err
		}
		args = append(args, bits...)
	}
	got, err := f.Call(s.t.Context(), args...)
	return got, f.Definition().ResultTypes(), err
}

func trapText(text string) string {
	switch {
	case text == "indirect call type mismatch", text == "indirect call":
		return "indirect call type mismatch"
	case strings.HasPrefix(text, "undefined"), strings.HasPrefix(text, "uninitialized"), text == "out of bounds table access":
		return "invalid table access"
	}
	return text
}

// lanes returns the parts of a value, each with its width.
func (v scriptValue) lanes() (parts []string, width int, err error) {
	if v.Type == "v128" {
		width, err = strconv.Atoi(v.LaneType[1:])
		if err != nil {
			return nil, 0, err
		}
		err = json.Unmarshal(v.Value, &parts)
		return parts, width, err
	}
	var one string
	if len(v.Value) > 0 {
		err = json.Unmarshal(v.Value, &one)
	}
	width = 64
	if strings.HasSuffix(v.Type, "32") {
		width = 32
	}
	return []string{one}, width, err
}

// bits returns a value as the engine passes it.
func (v scriptValue) bits() ([]uint64, error) {
	parts, width, err := v.lanes()
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(v.Type, "ref") {
		if parts[0] == "null" || parts[0] == "" {
			return []uint64{0}, nil
		}
		n, err := strconv.ParseUint(parts[0], 10, 64)
		return []uint64{n + 1}, err // 0 stands for null
	}
	out := make([]uint64, 1+len(parts)*width/65)
	for i, p := range parts {
		n, err := number(p, width)
		if err != nil {
			return nil, err
		}
		out[i*width/64] |= n << (i * width % 64)
	}
	return out, nil
}

func number(p string, width int) (uint64, error) {
	if strings.HasPrefix(p, "-") {
		n, err := strconv.ParseInt(p, 10, 64)
		return uint64(n) & (1<<width - 1), err
	}
	return strconv.ParseUint(p, 10, 64)
}

func expectValues(got []uint64, types []api.ValueType, want []scriptValue) error {
	at := 0
	for _, v := range want {
		parts, width, err := v.lanes()
		if err != nil {
			return err
		}
		if v.Type == "externref" || v.Type == "funcref" {
			bits, err := v.bits()
			if err != nil {
				return err
			}
			if at >= len(got) || len(v.Value) > 0 && got[at] != bits[0] {
				return fmt.Errorf("got %v (%v), want %s", got, types, v.Value)
			}
			at++
			continue
		}
		for i, p := range parts {
			word := at + i*width/64
			if word >= len(got) {
				return fmt.Errorf("%d words of results, want more", len(got))
			}
			if lane := got[word] >> (i * width % 64) & (math.MaxUint64 >> (64 - width)); !sameNumber(lane, p, width) {
				return fmt.Errorf("got %#x in lane %d, want %s", lane, i, p)
			}
		}
		at += 1 + len(parts)*width/65
	}
	return nil
}

func sameNumber(got uint64, want string, width int) bool {
	if strings.HasPrefix(want, "nan:") {
		canonical := uint64(0x7ff8 << 48)
		if width == 32 {
			canonical = 0x7fc00000
		}
		if want == "nan:canonical" {
			return got&(1<<(width-1)-1) == canonical
		}
		return got&canonical == canonical
	}
	n, err := number(want, width)
	return err == nil && got == n&(math.MaxUint64>>(64-width))
}
