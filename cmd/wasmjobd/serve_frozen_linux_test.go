package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

// member makes the server of a folder join others on a ZooKeeper.
func member(z *zktest.Server, dir, name, ip string, more ...string) func(*exec.Cmd) {
	return func(c *exec.Cmd) {
		c.Env = append(os.Environ(), "WASMJOBD_REGISTRY__KIND=zookeeper", "WASMJOBD_REGISTRY__SERVERS="+z.Address(),
			"WASMJOBD_REGISTRY__SESSION_TIMEOUT=4s", "WASMJOBD_REGISTRY__CHROOT=/"+filepath.Base(filepath.Dir(dir))+filepath.Base(dir),
			"WASMJOBD_SERVER__DATA_DIR="+filepath.Join(dir, name), "WASMJOBD_SERVER__IP="+ip)
		c.Env = append(c.Env, more...)
	}
}

// A server hangs while a command runs whose daemon has left the session. Its supervisor ends
// both before the next server begins the item, unless the job lets its runs finish.
func TestServeFrozenWhileItsCommandsRun(t *testing.T) {
	t.Parallel()
	z := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	for name, finish := range map[string]bool{"cancel": false, "finish": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ways(t, func(t *testing.T, by []string) {
				dir := commandsFolder(t)
				loss := "WASMJOBD_DEFAULTS__ON_REGISTRY_LOSS=" + name
				first := startServeWith(t, dir, by, member(z, dir, "first", "10.0.0.1", loss))
				await(t, func() bool { return len(daemons(t, dir)) == 1 })
				second := startServeWith(t, dir, by, member(z, dir, "second", "10.0.0.2", loss))
				joined := second.errors.await("joined as")
				<-joined
				if err := first.Process.Signal(syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				await(t, func() bool { return len(daemons(t, dir)) == 2 })
				_, err := os.Stat(filepath.Join(dir, "twice"))
				if together := err == nil; together != finish {
					t.Errorf("on_registry_loss = %q: one ran beside the other: %v", name, together)
				}
				if pid := daemons(t, dir)[0]; runs(pid) != finish {
					t.Errorf("on_registry_loss = %q: the first goes on: %v", name, runs(pid))
				}
				woken := first.errors.await("the registry session ended")
				if err := first.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
				<-woken
				secondSignal(t, second, dir+"/none")
				secondSignal(t, first, dir)
				if said := first.errors.String(); strings.Contains(said, `"state":"failed"`) {
					t.Errorf("a run that was ended with its session has failed:\n%s", said)
				}
			})
		})
	}
}
