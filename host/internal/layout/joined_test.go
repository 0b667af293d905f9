package layout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wasmjob/wasmjob/host/job"
)

// joins compares what a server would join with what the merge makes of its file:
// AsJoined does without where registry and file agree.
func (h *held) joins(t *testing.T, file job.Config, merged *Merged) {
	t.Helper()
	want := merged.Job(file)
	want.Kind, want.Overwrite = file.Kind, file.Overwrite
	if file.Class != "" || file.Overwrite {
		want.Class = file.Class
	}
	if got, _ := AsJoined(&file, h.config, h.module); !cmp.Equal(got, want) {
		t.Errorf("it joins otherwise than it is merged: %s", cmp.Diff(want, got))
	}
}

func TestAFileAgreesWithWhatItWrote(t *testing.T) {
	t.Parallel()
	file, h := plainJob(), held{}
	for _, digest := range []string{strings.Repeat("a", 64), ""} { // the second time it is known
		h.apply(t, file, digest)
		file.ModuleDigest = digest
		if mine, there := sides(Define(file), h.config, h.module); !mine.agrees(&there) {
			t.Errorf("with digest %q it does not agree: %+v and %+v", digest, mine, there)
		}
	}
	file.ModuleDigest = strings.Repeat("b", 64)
	if mine, there := sides(Define(file), h.config, h.module); mine.agrees(&there) {
		t.Error("it agrees with another module")
	}
}
