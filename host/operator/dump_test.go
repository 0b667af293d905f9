package operator

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

type torn struct{}

func (torn) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

// The error of a failed dump says why.
func TestDumpsThatFail(t *testing.T) {
	t.Parallel()
	o := operate(t, passing(t))
	put(t, o, registry.Create, "/jobs", "")
	put(t, o, registry.Create, layout.NewJob("jobs", "j").Root(), "")
	put(t, o, registry.Create, layout.NewJob("jobs", "j").Root()+"/a", "10.0.0.1")
	var got strings.Builder
	if err := o.Dump(t.Context(), "j", &got); err != nil || got.String() != "/j/a | ip1\n" {
		t.Errorf("%q, %v", got.String(), err)
	}
	wantCode(t, "no such job", o.Dump(t.Context(), "k", io.Discard), host.NotFound)
	wantCode(t, "nobody reads", o.Dump(t.Context(), "j", torn{}), host.Unavailable)
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
