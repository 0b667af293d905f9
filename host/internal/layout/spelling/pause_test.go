package spelling

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
)

// A value that cannot be read is a pause without an end, not an error: a server that does
// not know a later release's value keeps the job paused.
func TestPause(t *testing.T) {
	t.Parallel()
	for _, p := range []protocol.Pause{{}, {By: "ann"}, {By: "ann", Why: `"why"`, Since: 1, Until: 2}} {
		if got := DecodePause(EncodePause(p)); got != p {
			t.Errorf("%+v is read as %+v", p, got)
		}
	}
	if data := EncodePause(protocol.Pause{}); data != nil {
		t.Errorf("nothing is written as %q", data)
	}
	known := protocol.Pause{Until: 7}
	for text, want := range map[string]protocol.Pause{
		`{"v":1,"until":7,"later":"key"}`: known, `{"v":2,"until":7}`: {}, `{"v":1,"until":-7}`: {}, `{"v":1,"until":"7"}`: {},
		`{`: {}, `true`: {}, `{"v":1,"until":7,"why":"` + strings.Repeat("x", maxPause) + `"}`: {},
	} {
		if got := DecodePause([]byte(text)); got != want {
			t.Errorf("%.40s is read as %+v, want %+v", text, got, want)
		}
	}
}

func FuzzPause(f *testing.F) {
	f.Add([]byte(`{"v":1,"by":"ann","why":"x","since":1,"until":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := DecodePause(data)
		if got := DecodePause(EncodePause(p)); got != p {
			t.Errorf("%q is read as %+v, and that as %+v", data, p, got)
		}
	})
}
