package meter

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// BenchmarkRewrite measures the time to rewrite a guest of the Go toolchain.
func BenchmarkRewrite(b *testing.B) {
	wasm := built(b, goGuest)
	b.SetBytes(int64(len(wasm)))
	b.ReportAllocs()
	var res Result
	for b.Loop() {
		var err error
		if res, err = rewritten(wasm, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(res.Wasm))/float64(len(wasm)), "growth")
}

// BenchmarkCompile compares how long the engine compiles plain and metered code.
func BenchmarkCompile(b *testing.B) {
	wasm := built(b, goGuest)
	res, err := rewritten(wasm, Options{})
	if err != nil {
		b.Fatal(err)
	}
	rt := wazero.NewRuntime(b.Context())
	defer rt.Close(b.Context())
	var ratios []float64
	for b.Loop() {
		var took [2]time.Duration
		for i, w := range [][]byte{wasm, res.Wasm} {
			begin := time.Now()
			c, err := rt.CompileModule(b.Context(), w)
			took[i] = time.Since(begin)
			if err != nil {
				b.Fatal(err)
			}
			_ = c.Close(b.Context())
		}
		ratios = append(ratios, float64(took[1])/float64(took[0]))
	}
	b.ReportMetric(median(ratios), "x_unprotected")
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// BenchmarkCost compares metered code with code that cannot be stopped and with the
// engine's own way to stop code, in turns. It reports the medians of the turns, and at
// the end the mean of all languages.
//
// -guests is a folder with a module for each language, used instead of the modules that
// the tests build. The benchmark calls the exports named in work, each with a number: of
// rounds, or of the value to compute.
func BenchmarkCost(b *testing.B) {
	tight := (&build{funcs: []fn{{"loop", "i>i", "i", cat(0x03, 0x40, lget(1), lget(0), 0x6a, lset(1), lget(0), i32c(1), 0x6b, ltee(0), 0x0d, 0, 0x0b, lget(1))}}}).bytes()
	all := map[string]func() ([]byte, error){"wat": func() ([]byte, error) { return tight, nil }, "rust": rustGuest, "go": goGuest}
	files, _ := filepath.Glob(filepath.Join(*guests, "*.wasm"))
	for _, f := range files {
		all[strings.TrimSuffix(filepath.Base(f), ".wasm")] = func() ([]byte, error) { return os.ReadFile(f) }
	}
	r := report{costs: map[string]float64{}, gains: map[string]float64{}, gave: map[string]uint64{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.Run(name, func(b *testing.B) { r.guest(b, name, built(b, all[name])) })
	}
	b.Run("all", r.mean)
}

var (
	guests = flag.String("guests", filepath.Join("..", "..", "..", "build", "bench"), "folder of modules for BenchmarkCost")
	work   = []string{"loop", "json", "encoding", "fib", "bytes"} // read only
)

// report gathers figures that languages have in common.
type report struct {
	costs map[string]float64 // cost of metering, by language and work
	gains map[string]float64 // gain over closing, by language and work
	gave  map[string]uint64  // result, by work
}

func (r *report) guest(b *testing.B, language string, wasm []byte) {
	res, err := rewritten(wasm, Options{})
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	all := rivals{
		plain:   newHost(b, wazero.NewRuntimeConfig()).start(b, wasm, &out),
		metered: newHost(b, wazero.NewRuntimeConfig()).start(b, res.Wasm, &out),
		closing: newHost(b, wazero.NewRuntimeConfig().WithCloseOnContextDone(true)).start(b, wasm, &out),
	}
	for _, name := range work {
		if all.plain.ExportedFunction(name) == nil {
			continue
		}
		if language != "wat" { // the loop of wat differs
			_, got := took(b, all.metered, name, 12)
			if before, ok := r.gave[name]; ok && got != before {
				b.Errorf("%s gives %d, in another language %d", name, got, before)
			}
			r.gave[name] = got
		}
		b.Run(name, func(b *testing.B) { r.costs[language+"/"+name], r.gains[language+"/"+name] = all.compare(b, name) })
	}
}

// mean reports the mean cost of metering, and the mean gain over closing, of all
// languages.
func (r *report) mean(b *testing.B) {
	for b.Loop() { // nothing is left to measure
		continue
	}
	b.ReportMetric(0, "ns/op")
	logs := 0.0
	for _, cost := range r.costs {
		logs += math.Log(cost) / float64(len(r.costs))
	}
	b.ReportMetric(math.Exp(logs), "x_unprotected<=1.15")
	logs = 0
	for _, language := range []string{"rust", "go", "tinygo", "assemblyscript", "c"} {
		for _, name := range []string{"loop", "json"} {
			gain := r.gains[language+"/"+name]
			if gain == 0 {
				b.Skipf("%s/%s was not measured", language, name)
			}
			logs += math.Log(gain) / 10
		}
	}
	b.ReportMetric(math.Exp(logs), "x_faster_than_closing>=8")
}

// rivals are three builds of one guest: one that cannot be stopped, one stopped by the
// meter, and one stopped by the engine's WithCloseOnContextDone.
type rivals struct{ plain, metered, closing api.Module }

// took measures one call. The engine allocates a stack for it, whose position changes the
// time of a host call by half. Some stacks are therefore discarded, so that the position
// varies between turns.
func took(b *testing.B, m api.Module, name string, arg uint64) (time.Duration, uint64) {
	f := m.ExportedFunction(name)
	for range rand.IntN(8) {
		f = m.ExportedFunction(name)
	}
	begin := time.Now()
	got, err := f.Call(b.Context(), arg)
	if err != nil {
		b.Fatal(err)
	}
	return time.Since(begin), got[0]
}

func (r rivals) compare(b *testing.B, name string) (cost, gain float64) {
	arg := uint64(22) // a recursion on it has enough calls
	for name != "fib" {
		quick := time.Hour
		for range 3 { // one of them may have been disturbed
			spent, _ := took(b, r.plain, name, arg)
			quick = min(quick, spent)
		}
		if quick >= time.Millisecond {
			break
		}
		arg *= 2
	}
	var spent, overPlain, overMetered, closingOverPlain []float64
	for b.Loop() {
		plain, want := took(b, r.plain, name, arg)
		metered, got := took(b, r.metered, name, arg)
		closing, _ := took(b, r.closing, name, arg)
		if name != "bytes" && got != want { // bytes keeps what it copied
			b.Errorf("metered it gives %d, not %d", got, want)
		}
		spent = append(spent, plain.Seconds()*1000)
		overPlain = append(overPlain, float64(metered)/float64(plain))
		overMetered = append(overMetered, float64(closing)/float64(metered))
		closingOverPlain = append(closingOverPlain, float64(closing)/float64(plain))
	}
	b.ReportMetric(0, "ns/op") // of all three builds
	b.ReportMetric(median(spent), "plain-ms")
	b.ReportMetric(median(overPlain), "x_unprotected<=1.4")
	b.ReportMetric(median(closingOverPlain), "closing/unprotected")
	// Closing costs nothing where it cannot stop a guest: in calls and in bulk
	// operations.
	unit := "x_faster_than_closing"
	if name != "fib" && name != "bytes" {
		unit += ">=3"
	}
	b.ReportMetric(median(overMetered), unit)
	return median(overPlain), median(overMetered)
}
