package sandbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		if got := m.hideAll(text); got != want {
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
	if none.hideAll("s3cret") != "s3cret" || none.slack() != 0 || none.contains("x") || newMask(map[string]string{"a": "\n"}) != nil {
		t.Error("a mask without secrets")
	}
}

func TestMaskKnowsSpellings(t *testing.T) {
	t.Parallel()
	const secret = "p\"ss/w+rd \\ é?<"
	m := newMask(map[string]string{"a": secret})
	asJSON := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	spellings := map[string]string{
		"plain":             secret,
		"JSON":              asJSON(secret),
		"JSON in JSON":      asJSON(asJSON(map[string]string{"password": secret})),
		"JSON, ASCII alone": `p\"ss\/w+rd \\ \u00e9?\u003C`,
		"quoted":            strconv.Quote(secret),
		"quoted, ASCII":     strconv.QuoteToASCII(secret),
		"quoted by Rust":    `p\"ss/w+rd \\ \u{e9}?<`,
		"by bytes":          `p\"ss/w+rd \\ \xc3\xa9?<`,
		"in a query":        url.QueryEscape(secret),
		"in a path":         url.PathEscape(secret),
		"percent, lower":    strings.ToLower(url.QueryEscape(secret)),
		"percent, all":      "%70%22%73%73%2f%77%2b%72%64%20%5c%20%c3%a9%3f%3c",
		"URL in JSON":       asJSON("https://x/?a=b&p=" + url.QueryEscape(secret)),
		"URL in an error":   (&url.Error{Op: "Get", URL: "https://x/" + url.PathEscape(secret), Err: io.EOF}).Error(),
	}
	for name, enc := range map[string]*base64.Encoding{
		"std": base64.StdEncoding, "raw": base64.RawStdEncoding, "url": base64.URLEncoding, "raw url": base64.RawURLEncoding,
	} {
		for _, user := range []string{"", "u:", "us:", "use:"} {
			for _, after := range []string{"", "x", "xy"} {
				spellings[name+" "+user+after] = "Basic " + enc.EncodeToString([]byte(user+secret+after))
			}
		}
	}
	spellings["base64 in a query"] = url.QueryEscape(spellings["std use:"])
	for name, text := range spellings {
		for _, around := range [][2]string{{"", ""}, {"say ", "."}, {"%", "%4"}, {"100% + ", "\\"}} {
			whole := around[0] + text + around[1]
			got := m.hideAll(whole)
			if left := strings.ReplaceAll(got, masked, ""); !strings.Contains(got, masked) || len(left) > len(whole)-len(secret) || leaks(left, text) {
				t.Errorf("%s: %q shows as %q", name, whole, got)
			}
		}
	}
}

// leaks reports whether more of a text in base64 is left than the surroundings of the
// secret.
func leaks(left, text string) bool {
	coded, is := strings.CutPrefix(text, "Basic ")
	return is && strings.Contains(left, coded[len(coded)/2-4:len(coded)/2+4])
}

func TestShortSecretsAreNotFoundByChance(t *testing.T) {
	t.Parallel()
	m := newMask(map[string]string{"a": "abc", "b": "7"})
	for text, want := range map[string]string{
		"YWJj":      "YWJj", // base64 of abc
		"x7x%37":    "x***x***",
		"Nw==":      "Nw==",
		`a\u0062c`:  "***",
		"100% sure": "100% sure",
	} {
		if got := m.hideAll(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The size of the search is limited, and so is the context needed at a cut.
func TestLargeSecrets(t *testing.T) {
	t.Parallel()
	var long strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&long, "%x,", i*i)
	}
	secret := long.String()[:64<<10>>1]
	m := newMask(map[string]string{"a": secret, "b": strings.Repeat("line of a secret\n", 4000)})
	if got := m.hideAll("<" + secret + ">"); got != "<***>" {
		t.Errorf("%.100q", got)
	}
	if got := m.hideAll("<" + base64.StdEncoding.EncodeToString([]byte(secret)) + ">"); len(got) > 500 {
		t.Errorf("%d bytes are left: %.200q", len(got), got)
	}
	if m.slack() > 16<<10 {
		t.Errorf("%d bytes are wanted beside a cut", m.slack())
	}
}

// FuzzMask compares with the plain definition: a byte is hidden if an occurrence of a
// secret contains it.
func FuzzMask(f *testing.F) {
	f.Add("ab", "aba", "xababay")
	f.Add("a", "", "")
	f.Add("b", "abcd", "xabcabcdx")
	f.Add("x\ny", "yyyyy\nyyyy", "yyyyyyyyy")
	f.Fuzz(func(t *testing.T, a, b, text string) {
		s := newTextSearch()
		want := make([]bool, len(text))
		for _, p := range []string{a, b} {
			s.add(p, false, false)
			for i := 0; p != "" && i+len(p) <= len(text); i++ {
				if text[i:i+len(p)] == p {
					for at := range len(p) {
						want[i+at] = true
					}
				}
			}
		}
		s.link()
		got := make([]bool, len(text))
		m := mask{plain: s, coded: newTextSearch()}
		m.find(&decodedText{text: text}, func(lo, hi int) {
			for at := lo; at < hi; at++ {
				got[at] = true
			}
		})
		if !slices.Equal(got, want) {
			t.Fatalf("%q and %q in %q: %v, want %v", a, b, text, got, want)
		}
		// Other decodings may hide more, but never less.
		for i, hidden := range newMask(map[string]string{"a": a, "b": b}).covered(text) {
			if plain := strings.TrimSpace(a) == a && strings.TrimSpace(b) == b; plain && want[i] && !hidden {
				t.Fatalf("byte %d of %q is seen", i, text)
			}
		}
	})
}

// FuzzSpellings writes a secret in every known form, between other texts.
func FuzzSpellings(f *testing.F) {
	f.Add("s3cret-token", "a ", "!", byte(0))
	f.Add("p\"s s\\w%rd", "\\", "%2", byte(1))
	f.Add("日本語 token", "%e6%", "\\u00", byte(5))
	f.Fuzz(func(t *testing.T, secret, before, after string, how byte) {
		if secret = strings.TrimSpace(secret); len(secret) < 8 || len(secret) > maxPattern || !utf8.ValidString(secret) ||
			strings.ContainsAny(before+after, `%\`) || strings.ContainsRune(secret, utf8.RuneError) {
			return
		}
		quoted := func(s string) string { return s[1 : len(s)-1] }
		asJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		spelled := [...]string{
			secret, quoted(string(asJSON)), quoted(strconv.Quote(secret)), quoted(strconv.QuoteToASCII(secret)),
			url.QueryEscape(secret), url.PathEscape(secret), strings.ToLower(url.PathEscape(secret)),
			strconv.Quote(strconv.Quote(secret)),
		}
		text := spelled[int(how)%len(spelled)]
		if how := int(how) % len(spelled); how == 6 && strings.ToLower(secret) != secret {
			return
		}
		m := newMask(map[string]string{"a": secret})
		if got := m.hideAll(before + text + after); strings.Contains(got, text) && !strings.Contains(before+after+masked, text) {
			t.Fatalf("%q, as %q: %q", secret, text, got)
		}
		whole := before + secret + after
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
			coded := enc.EncodeToString([]byte(whole))
			marks := m.covered(coded)
			// Every character that encodes only bits of the secret must be hidden.
			lo, hi := (len(before)*8+5)/6, (len(before)+len(secret))*8/6
			for i := lo; i < hi; i++ {
				if marks == nil || !marks[i] {
					t.Fatalf("%q between %q and %q: character %d of %s is seen", secret, before, after, i, coded)
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
			a.writes(2, "begin ", secret, strings.Repeat("y", maxStderrKept-5))
		},
		"stderr tail, whole": func(a *asking) { a.writes(2, strings.Repeat("y\n", maxStderrKept), secret) },
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

// The result goes where the job's configuration says, so it is not changed.
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

// The name of a secret may be as large as the guest's memory.
func TestNamesOfSecretsAreNotCopied(t *testing.T) { //nolint:paralleltest // counts allocations
	c := job.Call{Secrets: map[string]string{"token": "x"}}
	c.Config.Allow.Secrets = []string{"token"}
	r := newRun(&c, &compilation{}, time.Now())
	name := bytes.Repeat([]byte("n"), 1<<20)
	if n := testing.AllocsPerRun(10, func() { r.secret(name) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkMask(b *testing.B) {
	m := newMask(map[string]string{"a": "9f86d081884c7d659a2feaa0c55ad015", "b": strings.Repeat("line of a longer secret\n", 40)})
	for name, text := range map[string]string{
		"plain":   strings.Repeat("an ordinary line of a log, ", 4),
		"escapes": strings.Repeat(`\\u0039%2566`, 400),
		"almost":  strings.Repeat("9f86d081884c7d659a2feaa0c55ad01", 130),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.hideAll(text)
			}
		})
	}
}
