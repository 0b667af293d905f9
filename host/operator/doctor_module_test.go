package operator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// A job that no server runs, with a module that a server with these options does not have.
func TestCheckupOfAJobWhoseModuleIsNowhere(t *testing.T) {
	t.Parallel()
	o, digest := operate(t, passing(t)), strings.Repeat("ab", 32)
	put(t, o, registry.Create, "/jobs", "")
	defined(t, o, job.Config{Name: "j", Kind: job.Simple, Module: "m", ModuleDigest: digest, Shards: 1, TimeZone: "UTC", Overlap: job.Skip, OnRegistryLoss: job.CancelOnLoss, Layout: job.Layout21})
	as := host.Options{DataDir: t.TempDir()}
	wantLines(t, "without the module", checkup(t, o, as).Breaks, []string{"its module " + digest + " is not in the data_dir"})
	if all, err := os.ReadDir(as.DataDir); err != nil || len(all) > 0 {
		t.Errorf("doctor wrote into the data directory: %v, %v", all, err)
	}
	held := filepath.Join(as.DataDir, "modules", digest+".wasm")
	if err := errors.Join(os.Mkdir(filepath.Dir(held), 0o700), os.WriteFile(held, []byte("wasm"), 0o600)); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "with the module", checkup(t, o, as).Breaks, nil)
}
