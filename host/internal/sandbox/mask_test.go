package sandbox

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestMask(t *testing.T) {
	t.Parallel()
	m := newMask(map[string]string{
		"a": "s3cret", "b": "s3cretary", "c": "aXa", "d": " \n", "e": "", "f": "first\r\n  second\n}\n", "g": "  padded ",
	})
	for text, want := range map[string]string{
		"":                       "",
		"nothing":                "nothing",
		"s3cret":                 "***",
		"a s3cret, s3cret":       "a ***, ***",
		"s3s3cret":               "s3***",
		"s3crets3cret":           "***",
		"s3cretary":              "***",
		"s3cretari":              "***ari",
		"aXaXa":                  "***", // they overlap
		"baXab":                  "b***b",
		"padded":                 "***",
		"first\r\n  second\n}":   "***",
		"say first } and second": "say *** } and ***",
		"S3CRET":                 "S3CRET",
	} {
		if got := m.all(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := m.hide("0s3cret8", 3, 8); got != "***8" {
		t.Errorf("cut at the left: %q", got)
	}
	if got := m.hide("0s3cret8", 0, 3); got != "0***" {
		t.Errorf("cut at the right: %q", got)
	}
	var none *mask
	if none.all("s3cret") != "s3cret" || none.slack() != 0 || none.shows("x") || newMask(map[string]string{"a": "\n"}) != nil {
		t.Error("a mask without secrets")
	}
}

// FuzzMask compares with the plain definition: a byte is hidden if some place
// where a secret stands has it in it.
func FuzzMask(f *testing.F) {
	f.Add("ab", "aba", "xababay")
	f.Add("a", "", "")
	f.Add("x\ny", "yyyyy\nyyyy", "yyyyyyyyy")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		m := newMask(map[string]string{"a": a, "b": b})
		want := make([]bool, len(text))
		var patterns []string
		if m != nil {
			for _, p := range m.patterns {
				patterns = append(patterns, p.text)
			}
		}
		for _, p := range patterns {
			for i := range text {
				if strings.HasPrefix(text[i:], p) {
					for at := range len(p) {
						want[i+at] = true
					}
				}
			}
			// Whatever is at the edge of a byte that no rune begins at.
			for i := 0; i+len(p) <= len(text); i++ {
				if text[i:i+len(p)] == p {
					for at := range len(p) {
						want[i+at] = true
					}
				}
			}
		}
		got := m.covered(text)
		if got == nil {
			got = make([]bool, len(text))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", patterns, text, got, want)
		}
		for _, whole := range []string{a, b} {
			if whole = strings.TrimSpace(whole); whole != "" && !strings.Contains(masked, whole) && strings.Contains(m.all(text), whole) {
				// Only the mark itself may make one, together with its neighbours.
				if !strings.Contains(whole, "*") {
					t.Fatalf("%q is seen in %q", whole, m.all(text))
				}
			}
		}
	})
}

// writes has the guest write text to a descriptor in pieces.
func (a *asking) writes(fd int64, pieces ...string) *asking {
	if a.funcs == nil {
		a.funcs = map[string]uint32{}
	}
	f, known := a.funcs["fd_write"]
	if !known {
		f = a.b.fromHost(wasiModule, "fd_write", valI32+valI32+valI32+valI32, valI32)
		a.funcs["fd_write"] = f
	}
	for _, p := range pieces {
		at, vec := a.put(p), a.room(12)
		a.code = slices.Concat(a.code, store32(vec, i32(at)), store32(vec+4, i32(int64(len(p)))), drop(invokes(f, fd, vec, 1, vec+8)))
	}
	return a
}

func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-token"
	for name, build := range map[string]func(a *asking){
		"log":           func(a *asking) { a.ask(abi.FuncLog, abi.LevelInfo, "it is "+secret+"!") },
		"log, cut":      func(a *asking) { a.ask(abi.FuncLog, abi.LevelInfo, strings.Repeat("x", 60)+secret) },
		"stdout pieces": func(a *asking) { a.writes(1, "it is s3cr", "et-", "token!\n", secret+" and no end") },
		"stdout, cut":   func(a *asking) { a.writes(1, strings.Repeat("x", 58), secret[:3], secret[3:]+"\n") },
		"stderr pieces": func(a *asking) { a.writes(2, "it is s3cr", "et-", "token!\n") },
		"stderr tail": func(a *asking) {
			a.writes(2, "begin ", secret, strings.Repeat("y", stderrTail-5))
		},
		"stderr tail, whole": func(a *asking) { a.writes(2, strings.Repeat("y\n", stderrTail), secret) },
		"reason":             func(a *asking) { a.ask(abi.FuncErrorSet, "it is "+secret) },
		"reason, cut":        func(a *asking) { a.ask(abi.FuncErrorSet, strings.Repeat("z", maxErrorText-4)+secret) },
	} {
		for verdict, end := range map[string][]byte{"fail": i32(1), "trap": op(opUnreachable)} {
			var buf bytes.Buffer
			var a asking
			a.end = end
			build(&a)
			_, _, out := a.run(t, job.Call{
				Config:  job.Config{Limits: job.Limits{LogLine: 64}},
				Secrets: map[string]string{"a": secret}, Log: textLog(&buf),
			})
			if out.Verdict != job.Failure {
				t.Errorf("%s: %s", name, out.Verdict)
			}
			for _, kept := range []string{buf.String(), out.Error} {
				for i := range secret[2:] {
					if strings.Contains(kept, secret[i:i+3]) {
						t.Errorf("%s, %s: %q is seen in %.300q", name, verdict, secret[i:i+3], kept)
						break
					}
				}
			}
			if all := buf.String() + out.Error; !strings.Contains(all, masked) && !strings.Contains(all, "yyy") {
				t.Errorf("%s, %s: nothing is kept: %q", name, verdict, all)
			}
		}
	}
}

func TestSecretsAreNotNamesOfMetrics(t *testing.T) {
	t.Parallel()
	var a asking
	a.ask(abi.FuncMetricAdd, "got.s3cret.bytes", 1.0)
	_, _, out := a.run(t, job.Call{Secrets: map[string]string{"a": "s3cret"}})
	if len(out.Metrics) != 1 || out.Metrics["got.***.bytes"] != 1 {
		t.Errorf("%v", out.Metrics)
	}
}

// The result goes where the job says, so nothing in it is changed.
func TestSecretsStayInResults(t *testing.T) {
	t.Parallel()
	var a asking
	room := a.room(6)
	a.ask(abi.FuncSecretGet, "key", room, 6).
		ask(abi.FuncSecretGet, "key", room, 5).
		ask(abi.FuncSecretGet, "hidden", room, 6).
		ask(abi.FuncSecretGet, "none", room, 6).
		ask(abi.FuncSecretGet, "", room, 6)
	mem, _ := a.wants(t, granted(nil), 6, 6, abi.ErrDenied, abi.ErrDenied, abi.ErrDenied)
	if got := string(mem[room : room+6]); got != "s3cret" {
		t.Errorf("read %q", got)
	}
	var b asking
	b.ask(abi.FuncSecretGet, "key", room, 6)
	b.wants(t, granted(func(c *job.Call) { c.Config.Allow.Secrets = nil }), abi.ErrDenied)
}

// The name of a secret may be as long as the memory of the guest.
func TestNamesOfSecretsAreNotCopied(t *testing.T) { //nolint:paralleltest // counts allocations
	c := job.Call{Secrets: map[string]string{"token": "x"}}
	c.Config.Allow.Secrets = []string{"token"}
	r := newRun(c, &compilation{}, time.Now())
	name := bytes.Repeat([]byte("n"), 1<<20)
	if n := testing.AllocsPerRun(10, func() { r.secret(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
