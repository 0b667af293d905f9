package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
)

// terminal is the environment of a verb: nothing in this package uses os.Stdin, os.Stdout,
// os.Stderr or os.Getenv, so tests can run verbs in one process.
//
// Data goes to out, all messages for people go to err.
type terminal struct {
	program  string   // as it was called
	env      []string // in the form of os.Environ
	in       io.Reader
	out, err io.Writer
	flush    func() // waits until text written to err has arrived; nil: not needed

	format  outputFormat // flag --output
	started bool         // the verb's own code has begun; earlier errors are usage errors
}

// dataWriter records that data could not be written: a verb whose output is lost must not
// report success.
type dataWriter struct {
	to  io.Writer
	err error // the first one
}

func (w *dataWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	if err != nil && w.err == nil {
		w.err = err
	}
	return n, err
}

// lost returns the error of a verb whose output could not be written. A reader that closes the
// pipe early is no error.
func (w *dataWriter) lost() error {
	if w.err == nil || errors.Is(w.err, syscall.EPIPE) {
		return nil
	}
	return exitf(exitFailure, "%w", w.err)
}

// json reports whether the operator asked for JSON.
func (t *terminal) json() bool { return t.format == formatJSON }

// printf writes data as text for people. Its errors are in the dataWriter below out.
func (t *terminal) printf(format string, args ...any) {
	fmt.Fprint(t.out, visibleText(fmt.Sprintf(format, args...)))
}

// note prints a message for people, on a line of its own.
func (t *terminal) note(format string, args ...any) {
	fmt.Fprintln(t.err, visibleText(strings.TrimRight(fmt.Sprintf(format, args...), "\n")))
}

// noteUnread names servers that may have more to show.
func (t *terminal) noteUnread(servers []string) {
	if len(servers) > 0 {
		t.note("these servers did not answer, and may have more: %s", strings.Join(servers, ", "))
	}
}

// printJSON writes v as indented JSON. It does not escape <, > and &, but does escape
// characters that control a terminal.
func (t *terminal) printJSON(v any) error {
	return t.encodeJSON(v, "  ")
}

// printJSONLine writes v like printJSON, but on one line.
func (t *terminal) printJSONLine(v any) error {
	return t.encodeJSON(v, "")
}

func (t *terminal) encodeJSON(v any, indent string) error {
	e := json.NewEncoder(jsonWriter{t.out})
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// answer writes v as JSON, or else the text.
func (t *terminal) answer(v any, format string, args ...any) error {
	if t.json() {
		return t.printJSON(v)
	}
	t.printf(format, args...)
	return nil
}

// outputFormat is the value of --output.
type outputFormat string

const (
	formatText outputFormat = "text"
	formatJSON outputFormat = "json"
)

// String implements pflag.Value, as Set and Type do.
func (f *outputFormat) String() string { return string(*f) }

// Set refuses unknown formats.
func (f *outputFormat) Set(s string) error {
	switch v := outputFormat(s); v {
	case formatText, formatJSON:
		*f = v
		return nil
	}
	return fmt.Errorf("write text or json")
}

// Type is what the help shows as the value of the flag.
func (f *outputFormat) Type() string { return "text|json" }
