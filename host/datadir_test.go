package host

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// Servers on one registry need separate data directories.
func TestDataDirIsOneServersOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := Options{Registry: embedded.Memory(), Namespace: "jobs", DataDir: t.TempDir(), Jobs: []job.Config{{Name: "j", Shards: 1}}, Runner: Func(fine)}
		first, stop := start(t, o)
		<-first.Ready()
		second, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		err = second.Run(t.Context())
		wantCode(t, "a second server on the directory", err, Refused)
		for _, want := range []string{o.DataDir, "process " + strconv.Itoa(os.Getpid()), "a data_dir of its own"} {
			if err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v: it does not say %q", err, want)
			}
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		again, stop := start(t, o)
		<-again.Ready()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// A host that waits for the data directory of a killed server can be stopped.
func TestWaitForADataDirEnds(t *testing.T) {
	t.Parallel()
	o := Options{DataDir: t.TempDir(), Runner: Func(fine)}
	unlock, err := (&Host{o: o}).lockDataDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = (&Host{o: o}).lockDataDir(ctx)
	wantCode(t, "while it is locked", err, Refused)
	unlock()
	if unlock, err = (&Host{o: o}).lockDataDir(ctx); err != nil {
		t.Fatal(err)
	}
	unlock()
}
