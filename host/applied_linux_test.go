package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A job goes on while the disk with its applied definition hangs.
func TestMemoryOfTheFileOnADiskThatStandsStill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	memory := &applied{dir: filepath.Join(dir, "applied"), namespace: "n"}
	standing := memory.path("a") + ".new" // opening it blocks a writer until a reader comes
	if err := errors.Join(os.Mkdir(memory.dir, 0o700), syscall.Mkfifo(standing, 0o600)); err != nil {
		t.Fatal(err)
	}
	ran, reg := make(chan struct{}), embedded.Memory()
	run := Func(func(ctx context.Context, c job.Call) job.Outcome {
		close(ran)
		return fine(ctx, c)
	})
	h, stop := start(t, Options{
		DataDir: dir, Namespace: memory.namespace, Registry: reg, Runner: run, Jobs: []job.Config{{Name: "a", Shards: 1}},
	})
	<-h.Ready()
	if err := h.Trigger(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	<-ran
	said, err := os.ReadFile(standing) // lets the writer go on
	if err != nil || len(said) == 0 {
		t.Errorf("%q, %v", said, err)
	}
	if err := errors.Join(stop(), reg.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(memory.path("a")); err != nil {
		t.Error(err)
	}
}
