package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// steering has characters that a terminal acts upon or hides: of C0 and C1, right-to-left
// marks, format characters below and above the basic plane, separators, and invalid bytes,
// among them half of a surrogate pair.
const steering = "a\x1b\x7f\u0085\u009b31m\u200e\u200f\u061c\u202a\u202e\u2066\u2069\u200b\ufeff\u2028\u00ad\U000e0041\xff\xed\xa0\x80z"

// shows fails the test if a text has characters that control a terminal.
func shows(t *testing.T, what, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' }) || !strings.Contains(text, "31m") {
		t.Errorf("%s: %q", what, text)
	}
}

func TestNothingSteersATerminal(t *testing.T) {
	t.Parallel()
	e := host.Event{Kind: host.EventEnd, Config: job.Config{Name: steering}, Parameter: steering, Reason: reason.Text(steering)}
	e.Outcome.Shown, e.Outcome.Error = steering, steering
	var out bytes.Buffer
	term := &terminal{out: &out, err: &out, started: true}
	for what, write := range map[string]func(){
		"--output json": func() {
			if err := term.printJSON(map[string]any{"a": steering, steering: json.RawMessage(`"` + "\u202e31m" + `"`)}); err != nil {
				t.Error(err)
			}
		},
		"the log": func() {
			log, readable := newLogger(&out, config.Server{LogFormat: "json"})
			if readable {
				t.Error("it is no JSON")
			}
			logEvents(log)(e)
			log.With(steering, steering).WithGroup(steering).Info(steering, "error", errors.New(steering))
		},
		"the readable log": func() { slog.New(newLineHandler(&out, 0)).Info(steering, "error", errors.New(steering)) },
		"lines":            func() { printEvents(&out, slog.New(newLineHandler(&out, slog.LevelInfo)))(e) },
		"events":           func() { out.Write(lineOf(e)) },
		"a strategy's":     func() { out.Write(lineOf(host.Event{Kind: host.EventStrategy, Reason: reason.Text(steering)})) },
		"data":             func() { term.printf("job %s", steering) },
		"a note":           func() { term.note("job %s", steering) },
		"an error":         func() { report(term, errors.New(steering)) },
	} {
		out.Reset()
		write()
		shows(t, what, out.String())
	}
}

func FuzzVisibleJSON(f *testing.F) {
	f.Add(steering)
	f.Add("\\\"\\u202e")
	f.Fuzz(func(t *testing.T, s string) {
		var plain, visible bytes.Buffer
		for _, to := range []io.Writer{&plain, jsonWriter{&visible}} {
			e := json.NewEncoder(to)
			e.SetEscapeHTML(false)
			if err := e.Encode(map[string]any{"a": s, s: json.RawMessage("1")}); err != nil {
				t.Fatal(err)
			}
		}
		var want, got any
		if err := json.Unmarshal(plain.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(visible.Bytes(), &got); err != nil {
			t.Fatalf("%q: %v", visible.String(), err)
		}
		for _, v := range []any{want, got} {
			if _, ok := v.(map[string]any); !ok {
				t.Fatalf("%v", v)
			}
		}
		for key, v := range want.(map[string]any) {
			if got.(map[string]any)[key] != v {
				t.Fatalf("%q: %v became %v", s, want, got)
			}
		}
		if strings.ContainsFunc(visible.String(), func(r rune) bool { return steers(r) && r != '\n' }) {
			t.Fatalf("%q", visible.String())
		}
	})
}
