package guest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/job"
)

func kitModule(t *testing.T, name string) []byte {
	t.Helper()
	wasm, err := os.ReadFile("../../abi/conformance/wat/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// subprocess returns an Examiner whose program is this test binary: see TestMain.
func subprocess(t *testing.T, mode string) *Examiner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewExaminer([]string{self, mode})
}

// An examination reports the kind of a module and how its trial ended.
func TestExaminations(t *testing.T) {
	t.Parallel()
	x := subprocess(t, examineMode)
	for name, want := range map[string]struct {
		kind    string
		verdict job.Verdict
	}{"ok.wasm": {"simple", job.OK}, "result.wasm": {"simple", job.OK}, "deal.wasm": {"strategy", job.OK}} {
		found, err := x.Examine(t.Context(), bytes.NewReader(kitModule(t, name)))
		if err != nil {
			t.Fatal(err)
		}
		if run := found.Trial; !found.Runs || len(found.Digest) != 64 || run == nil || run.Kind != want.kind || run.Verdict != want.verdict {
			t.Errorf("%s: %+v, %+v", name, found.Checked, run)
		}
	}
}

// A module that this host would refuse is not compiled, and the report says why.
func TestExaminationOfARefusedModule(t *testing.T) {
	t.Parallel()
	found, err := subprocess(t, examineMode).Examine(t.Context(), strings.NewReader("no module"))
	if err != nil || found.Runs || found.Refused == "" || found.Problem == "" || found.Trial != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

// A module that crashes the examining process is refused with the first line that the process
// printed.
func TestExaminationThatDies(t *testing.T) {
	t.Parallel()
	_, err := subprocess(t, dieMode).Examine(t.Context(), bytes.NewReader(kitModule(t, "ok.wasm")))
	if codeOf(err) != host.Invalid || !strings.HasSuffix(err.Error(), "no memory is left") {
		t.Error(err)
	}
	if _, err := NewExaminer(nil).Examine(t.Context(), nil); codeOf(err) != host.Unavailable {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := subprocess(t, examineMode).Examine(ctx, nil); codeOf(err) != host.Unavailable || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// codeOf returns the code of a *host.Error.
func codeOf(err error) host.Code {
	e, _ := errors.AsType[*host.Error](err)
	if e == nil {
		return ""
	}
	return e.Code
}

// Modules that are accepted can be stored, and vice versa.
func TestMaxModule(t *testing.T) {
	t.Parallel()
	if MaxModule != module.MaxSize {
		t.Errorf("%d bytes are taken, %d stored", MaxModule, module.MaxSize)
	}
}

func TestLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a\x1b[31mb\nc": "a?[31mb\nc", "\xff": "?", strings.Repeat("é", 600): strings.Repeat("é", 499) + "…"} {
		if got := legible(text); got != want {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}
