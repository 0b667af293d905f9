package sandbox

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"regexp"
	"runtime"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

var (
	calibrate = flag.Bool("calibrate", false, "measure what instructions cost, and write code_prices.go")
	fullSize  = flag.Bool("full", false, "compile hard shapes at the bound, which takes minutes and gigabytes")
)

// globalSet is the instruction that stores the results of chains.
const globalSet wasm.Op = 0x24

// calibratedFor is the version of the engine for which all prices were measured.
const calibratedFor = "v1.12.0"

func TestCalibrationIsForThisEngine(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`github.com/tetratelabs/wazero (\S+)`).FindSubmatch(mod)
	if found == nil || string(found[1]) != calibratedFor {
		t.Errorf("go.mod has wazero %q, and prices are for %s. Run `go test ./host/internal/sandbox -run CalibrationOfInstructions -calibrate` on amd64, "+
			"then -run Calibration, and with -full; mend code_size.go and effort.go where it fails, read the table above TestFarEndsAreReached again, and set calibratedFor",
			found, calibratedFor)
	}
}

// cost is the estimated or measured cost of compiling.
type cost struct{ code, memory float64 }

func (c cost) plus(memory float64) cost { return cost{c.code, c.memory + memory} }
func (c cost) less(d cost) cost         { return cost{c.code - d.code, c.memory - d.memory} }
func (c cost) each(n float64) cost      { return cost{c.code / n, c.memory / n} }
func (c cost) over(d cost) cost         { return cost{c.code / d.code, c.memory / d.memory} }
func (c cost) String() string {
	return fmt.Sprintf("%.1f of code and %.0f of memory", c.code, c.memory)
}

// estimated returns the check's estimate for a module, even if it refuses the module.
func estimated(t *testing.T, binary []byte) cost {
	t.Helper()
	return pricedAsIs(t, meteredOf(t, binary)).plus(float64(len(binary)))
}

// pricedAsIs returns the estimate without metering.
func pricedAsIs(t *testing.T, binary []byte) cost {
	t.Helper()
	p, err := estimateCost(binary, 0)
	if err != nil {
		t.Fatal(err)
	}
	return cost{float64(p.machineCode), float64(p.totalMemory(0))}
}

func meteredOf(t *testing.T, binary []byte) []byte {
	t.Helper()
	m, err := decode(binary, defaultModule)
	if err != nil {
		t.Fatal(err)
	}
	out, err := meterModule(m, 0)
	if err != nil {
		t.Fatal(err)
	}
	return out.Wasm
}

// measured meters and compiles a module.
func measured(t *testing.T, binary []byte) cost {
	t.Helper()
	return compiled(t, meteredOf(t, binary)).plus(float64(len(binary)))
}

// compiled compiles a module without metering. Memory counts every allocation, because
// what the collector has freed by then varies.
func compiled(t *testing.T, binary []byte) cost {
	t.Helper()
	rt := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigCompiler().WithCoreFeatures(api.CoreFeaturesV2))
	defer rt.Close(t.Context())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code, err := rt.CompileModule(t.Context(), binary)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	made, err := compiledSizeOf(code)
	if err != nil {
		t.Fatal(err)
	}
	return cost{float64(made.total), float64(after.TotalAlloc - before.TotalAlloc + uint64(len(binary)+made.total))}
}

// slope returns the cost of each additional one of n.
func slope(t *testing.T, of func(*testing.T, []byte) cost, build func(n int) []byte, from, to int) cost {
	t.Helper()
	return of(t, build(to)).less(of(t, build(from))).each(float64(to - from))
}

// TestCalibrationOfInstructions compiles chains of each instruction without metering,
// which would change some of them. The price must be at least the cost with any kind of
// operands, and at most twice the highest cost.
func TestCalibrationOfInstructions(t *testing.T) { //nolint:paralleltest // measures memory of the process
	if runtime.GOARCH != "amd64" {
		t.Skip("left out: prices are those of amd64")
	}
	if *calibrate {
		writePrices(t)
	}
	for _, o := range operations() {
		least := cost{100, 100}
		for how := range allOperands {
			if !o.fits(how) {
				continue
			}
			build := func(n int) []byte { return chain(o, n, how) }
			says, is := slope(t, pricedAsIs, build, 50, 250), slope(t, compiled, build, 50, 250)
			ratio := says.over(is)
			if ratio.code < 0.99 || ratio.memory < 0.9 {
				t.Errorf("% x: %v estimated, operands %d: in truth %v", o.code, says, how, is)
			}
			says.code -= codeStore // of the instruction that stores the result
			ratio = says.over(is)
			least = cost{min(least.code, ratio.code), min(least.memory, ratio.memory)}
		}
		most := 2.0
		if o.op == wasm.OpMemoryFill || o.op == wasm.OpTableFill { // makes parts, each of which counts with its worst case
			most = 4
		}
		if least.code > most || least.memory > 2.2 {
			t.Errorf("% x: estimated %.2f times too high, memory %.2f times", o.code, least.code, least.memory)
		}
	}
}

// writePrices measures code_prices.go again.
func writePrices(t *testing.T) {
	t.Helper()
	const from, to = 300, 900
	var code, memory [wasm.Ops]int
	var base [allOperands]cost // of an instruction with no special operands
	for i, o := range slices.Insert(operations(), 0, operation{0x45, "i", "i", []byte{0x45}}) {
		var most cost
		for how := range allOperands {
			if !o.fits(how) {
				continue
			}
			c := slope(t, compiled, func(n int) []byte { return chain(o, n, how) }, from, to)
			if i == 0 {
				base[how] = c
			}
			if how > spilled {
				c = c.less(base[how].less(base[spilled]))
			}
			most = cost{max(most.code, c.code), max(most.memory, c.memory)}
		}
		code[o.op], memory[o.op] = int(most.code)+1, int(most.memory)+1
	}
	for _, o := range operations() {
		if o.gives != "" { // the instruction that stores the result has its own price
			code[o.op], memory[o.op] = max(code[o.op]-code[globalSet], 1), max(memory[o.op]-memory[globalSet], 1)
		}
	}
	code[wasm.OpCall], memory[wasm.OpCall] = 20, 2600
	code[wasm.OpCallIndirect], memory[wasm.OpCallIndirect] = 230, 10500
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by calibration_test.go for wazero %s on amd64. DO NOT EDIT.\n\npackage sandbox\n\n", calibratedFor)
	fmt.Fprintln(&b, "import \"github.com/wasmjob/wasmjob/host/internal/wasm\"")
	table := func(comment, name, typ string, of []int) {
		fmt.Fprintf(&b, "\n// %s\nvar %s = [wasm.Ops]%s{ // read only\n", comment, name, typ)
		for at := 0; at < len(of); at += 16 {
			if slices.Max(of[at:at+16]) > 0 {
				fmt.Fprintf(&b, "%#x: ", at)
				for _, n := range of[at : at+16] {
					fmt.Fprintf(&b, "%d, ", n)
				}
				fmt.Fprintln(&b)
			}
		}
		fmt.Fprintln(&b, "}")
	}
	table("machineCode is how many bytes an instruction becomes.", "machineCode", "uint16", code[:])
	table("compilerMemory is how many bytes compiling one takes.", "compilerMemory", "uint16", memory[:])
	text, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("code_prices.go", text, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Fatal("code_prices.go is written; run the tests again")
}
