package sandbox

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// An escape is longer than the character.
func TestTextsAreCutAfterTheyWereEscaped(t *testing.T) {
	t.Parallel()
	odd := strings.Repeat("\u202e", 10_000)
	for name, tt := range map[string]struct {
		build func(a *asking)
		most  int
	}{
		"log":    {func(a *asking) { a.ask(abi.FuncLog, abi.LevelInfo, odd) }, 512},
		"stdout": {func(a *asking) { a.writes(1, odd, "\n") }, 512},
		"reason": {func(a *asking) { a.ask(abi.FuncErrorSet, odd) }, maxErrorText},
		"stderr": {func(a *asking) { a.writes(2, odd) }, 512 + maxStderrKept + 200},
	} {
		var buf bytes.Buffer
		var a asking
		a.end = i32(1)
		build := tt.build
		build(&a)
		_, _, out := a.run(t, job.Call{
			Config: job.Config{Limits: job.Limits{LogLine: 512}},
			Log: slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.MessageKey {
					return slog.Attr{Key: "", Value: a.Value}
				}
				return slog.Attr{}
			}})),
		})
		all := strings.ReplaceAll(buf.String(), `\\`, `\`) + out.Error
		if !strings.Contains(all, `\u202e\u202e`) || len(all) > tt.most+100 || len(out.Shown) > maxShownResult+len("...") {
			t.Errorf("%s: %d bytes: %.200q, and %.200q", name, len(all), all, out.Shown)
		}
	}
}

func TestResultsInLogsHideSecrets(t *testing.T) {
	t.Parallel()
	for result, want := range map[string]string{
		"":                         "",
		" it is s3cret-token\n":    "it is ***",
		"two\nlines\x1b[0m\u009b":  "two\nlines\\x1b[0m\\u009b",
		"https://x?t=s3cret%2dtok": "https://x?t=s3cret%2dtok",
		"?t=s3cret%2dtoken":        "?t=***",
		strings.Repeat("r", maxShownResult-6) + "s3cret-token":  strings.Repeat("r", maxShownResult-6) + "***",
		strings.Repeat("r", maxShownResult+6) + "s3cret-token.": strings.Repeat("r", maxShownResult) + "...",
	} {
		b := &builder{}
		set := b.abi(abi.FuncResultSet)
		wasm := b.putData(0, result).job(i32(0), i32(int64(len(result))), call(set))
		out := runOnce(t, wasm, job.Call{Secrets: map[string]string{"a": "s3cret-token"}})
		if out.Shown != want || string(out.Result) != result {
			t.Errorf("%q shows as %q, want %q", result, out.Shown, want)
		}
	}
}

// The log rate belongs to the item, however many attempts it has.
func TestAttemptsShareTheRateOfLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{}
		lines := func(item int) int {
			var buf bytes.Buffer
			c := job.Call{Config: job.Config{Name: "j", Limits: job.Limits{LogRate: 3}}, Item: item, Log: textLog(&buf)}
			j := newGuestLog(&c, &compilation{engine: e})
			for range 10 {
				j.write(t.Context(), slog.LevelInfo, "again")
			}
			return strings.Count(buf.String(), "msg=again")
		}
		for i, want := range []int{3, 0, 0} {
			if got := lines(0); got != want {
				t.Errorf("attempt %d: %d lines", i+1, got)
			}
		}
		if got := lines(1); got != 3 {
			t.Errorf("another item: %d lines", got)
		}
		time.Sleep(time.Second)
		if got := lines(0); got != 3 {
			t.Errorf("a second later: %d lines", got)
		}
	})
}

func TestRemarksCountAsLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var buf bytes.Buffer
		j := newGuestLog(&job.Call{Config: job.Config{Limits: job.Limits{LogRate: 3}}, Log: textLog(&buf)}, &compilation{})
		for range 10 {
			j.logLimited(t.Context(), slog.LevelWarn, "batch is retried in another instance")
		}
		j.logDroppedAtEnd(t.Context())
		if got := buf.String(); strings.Count(got, "batch") != 3 || !strings.Contains(got, "lines=7") {
			t.Error(got)
		}
	})
}

// FuzzEscape compares with the plain definition, rune by rune.
func FuzzEscape(f *testing.F) {
	f.Add("plain", 3)
	f.Add("a\xff\xfe\x80b\n\t\r\u202e\u2028\U000e0041", 100)
	f.Fuzz(func(t *testing.T, s string, most int) {
		want := ""
		broken := false
		for _, r := range strings.ToValidUTF8(s, "\xff") { // which ToValidUTF8 joins
			was := broken
			broken = r == utf8.RuneError
			switch {
			case r == '\n':
				want += `\n`
			case r == '\r':
				want += `\r`
			case r == '\t':
				want += `\t`
			case r == utf8.RuneError && was && !strings.ContainsRune(s, r):
			case unicode.IsGraphic(r):
				want += string(r)
			case r < 0x80:
				want += fmt.Sprintf(`\x%02x`, r)
			default:
				want += fmt.Sprintf(`\u%04x`, r)
			}
		}
		if got := escape(s, false, math.MaxInt); got != want && !strings.ContainsRune(s, utf8.RuneError) {
			t.Fatalf("%q: %q, want %q", s, got, want)
		}
		most = min(max(most, 0), 1000)
		got := readable(s, most)
		if len(got) > most+len("...") || !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Fatalf("%q of %d bytes: %q", s, most, got)
		}
		if whole := escape(s, false, math.MaxInt); !strings.HasPrefix(whole, strings.TrimSuffix(got, "...")) {
			t.Fatalf("%q begins %q, not %q", s, whole, got)
		}
	})
}
