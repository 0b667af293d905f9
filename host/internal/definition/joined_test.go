package definition_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/job"
)

// joins compares the job that a server would join with the merge of its file: AsJoined
// skips the merge if registry and file agree.
func (h *held) joins(t *testing.T, file job.Config, merged *definition.Merged) {
	t.Helper()
	want := merged.Job(file)
	want.Kind, want.Overwrite = file.Kind, file.Overwrite
	if file.Class != "" || file.Overwrite {
		want.Class = file.Class
	}
	if got, _ := definition.AsJoined(&file, define, h.held(), h.module); !cmp.Equal(got, want) {
		t.Errorf("it joins otherwise than it is merged: %s", cmp.Diff(want, got))
	}
}

func TestAFileAgreesWithWhatItWrote(t *testing.T) {
	t.Parallel()
	file, h := plainJob(), held{}
	for _, digest := range []string{strings.Repeat("a", 64), ""} { // with the digest known the second time
		h.apply(t, file, digest)
		file.ModuleDigest = digest
		if !definition.Agrees(define(file), h.held(), h.module) {
			t.Errorf("with digest %q it does not agree: %+v and %+v", digest, define(file), h)
		}
	}
	file.ModuleDigest = strings.Repeat("b", 64)
	if definition.Agrees(define(file), h.held(), h.module) {
		t.Error("it agrees with another module")
	}
}
