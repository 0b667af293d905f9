package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/internal/smalldisk"
)

// TestDiskScripts run a server on a disk of its own, $WORK/disk, which is small enough to be
// filled.
func TestDiskScripts(t *testing.T) {
	t.Parallel()
	smalldisk.RootOnly(t)
	examples, err := filepath.Abs("../../plugins/examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/disk",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HELLO", filepath.Join(examples, "hello-wat/hello.wasm"))
			e.Setenv("LONG", filepath.Join(examples, "long-wat/long.wasm"))
			disk := filepath.Join(e.WorkDir, "disk")
			if err := os.Mkdir(disk, 0o700); err != nil {
				return err
			}
			unmount, err := smalldisk.Mount(disk, "4m")
			if err != nil {
				return err
			}
			e.Defer(func() {
				if err := unmount(); err != nil {
					t.Error(err)
				}
			})
			return nil
		},
	})
}
