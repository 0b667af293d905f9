package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

const (
	// lookEvery is how often a script checks a file for a line.
	lookEvery = 20 * time.Millisecond
	// scriptPatience ends a script that waits for something that never comes.
	scriptPatience = 90 * time.Second
)

// TestClusterScripts runs servers, each in a process of its own, on a real ZooKeeper.
func TestClusterScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, clusterScripts(t, "testdata/cluster", zktest.Start(t, zktest.Debian(t), zktest.Options{})))
}

// TestPartitionScripts disconnects servers by their networks. There they have addresses of
// their own, so ZooKeeper listens on all addresses.
func TestPartitionScripts(t *testing.T) {
	t.Parallel()
	p := clusterScripts(t, "testdata/partition", zktest.Start(t, zktest.Debian(t), zktest.Options{Lines: []string{"clientPortAddress=0.0.0.0"}}))
	const scripts = 5 // upper bound
	whole := p.Setup
	var networks atomic.Int64
	networks.Store(int64(os.Getpid() % 50 * scripts)) // other tests may run concurrently
	p.Setup = func(e *testscript.Env) error {
		network := networks.Add(1)
		name := fmt.Sprintf("wj%d-%d", os.Getpid(), network%scripts)
		e.Setenv("NETNS", name)
		e.Setenv("NET", fmt.Sprintf("10.78.%d", network))
		e.Defer(func() {
			for _, args := range [][]string{{"netns", "delete", name}, {"link", "delete", "to-" + name}} {
				_ = exec.CommandContext(context.WithoutCancel(t.Context()), "ip", args...).Run() // deleting one end deletes the other
			}
		})
		return whole(e)
	}
	testscript.Run(t, p)
}

// TestTLSScript runs a server on a ZooKeeper that accepts only TLS.
func TestTLSScript(t *testing.T) {
	t.Parallel()
	release, dir, port := zktest.Debian(t), t.TempDir(), strconv.Itoa(zktest.FreePort(t))
	p := clusterScripts(t, "testdata/tls", zktest.Start(t, release, zktest.Options{Lines: zktest.Secure(t, dir, port, "need")}))
	whole := p.Setup
	p.Setup = func(e *testscript.Env) error {
		err := whole(e)
		e.Setenv("TLS", dir)
		e.Setenv("TLS_PORT", port)
		e.Setenv("WASMJOBD_REGISTRY__SERVERS", "localhost:"+port)
		return err
	}
	testscript.Run(t, p)
}

func clusterScripts(t *testing.T, dir string, server *zktest.Server) testscript.Params {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	able := map[string][]string{
		"namespaces": {"unshare", "--user", "--map-root-user", "--pid", "--fork", "true"},
		"netns":      {"sh", "-c", "ip netns add able-$$ && ip netns delete able-$$"},
	}
	return testscript.Params{
		Dir:  dir,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"until": until, "elasticjob": elasticJob},
		Condition: func(name string) (bool, error) {
			try, ok := able[name]
			if !ok {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			out, err := exec.CommandContext(t.Context(), try[0], try[1:]...).CombinedOutput()
			if err != nil && os.Getenv("WASMJOBD_STRICT") == "1" {
				return false, fmt.Errorf("what %s is for cannot be left out: %w: %s", name, err, out)
			}
			return err == nil, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			goCaches(e)
			e.Setenv("HOOK", hook(e))
			e.Setenv("LONG", filepath.Join(root, "plugins/examples/long-wat/long.wasm"))
			e.Setenv("PORT", port)
			e.Setenv("FREE", strconv.Itoa(zktest.FreePort(t)))
			e.Setenv("WASMJOBD_REGISTRY__SERVERS", server.Address())
			e.Setenv("WASMJOBD_REGISTRY__CHROOT", "/"+filepath.Base(e.WorkDir)) // separates the scripts
			e.Setenv("WASMJOBD_SERVER__LOG__FORMAT", "json")
			return nil
		},
	}
}

// until implements the script command "until FILES REGEXP": it waits until one of the files, a
// pattern of names, has a line that matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: until files regexp")
	}
	line, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.After(scriptPatience)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		names, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		var all strings.Builder
		for _, name := range names {
			text, err := os.ReadFile(name)
			ts.Check(err)
			if line.Match(text) {
				return
			}
			all.WriteString(name + ":\n" + string(text))
		}
		select {
		case <-look.C:
		case <-deadline:
			ts.Fatalf("no line matches %s in\n%s", args[1], &all)
		}
	}
}

const awayTOML = `[server]
ip = "10.0.0.1"
log.format = "json"
[registry]
kind = "zookeeper"
servers = ["ADDRESS"]
session_timeout = "5s"
[modules.says]
source = "file:says.wasm"
[jobs.quick]
module = "says"
cron = "* * * * * ?"
`

// A server that starts before ZooKeeper does says so, and joins by itself later. It does the
// same when ZooKeeper was away and has lost its data.
func TestServeWithoutZooKeeper(t *testing.T) {
	t.Parallel()
	zookeeper := zktest.Start(t, zktest.Debian(t), zktest.Options{})
	zookeeper.Kill()
	dir := serveFolder(t, strings.Replace(awayTOML, "ADDRESS", zookeeper.Address(), 1))
	d := startServe(t, dir)
	<-d.errors.await("no run begins until one is open")
	if strings.Contains(d.errors.String(), `"ready"`) {
		t.Errorf("it is ready without a registry:\n%s", d.errors)
	}
	verb(t, dir, exitUnreachable, "job", "list", "--timeout", "200ms")
	zookeeper.Restart()
	<-d.errors.await(`"ready"`)
	ran := func(e eventLine) bool { return e.Event == "end" && e.State == "succeeded" }
	d.until(t, ran)

	zookeeper.Kill()
	<-d.errors.await("lost the connection to the registry")
	zookeeper.Wipe()
	zookeeper.Restart()
	joined := strings.Count(d.errors.String(), "joined as")
	for strings.Count(d.errors.String(), "joined as") == joined && d.events.Scan() {
	}
	d.until(t, ran)
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

// Verbs on the embedded registry ask its server while that runs, and otherwise use its files.
func TestJobVerbsOnTheEmbeddedRegistry(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, "[modules.says]\nsource = \"file:says.wasm\"\n[jobs.quick]\nmodule = \"says\"\ncron = \"* * * * * ?\"\n")
	verb(t, dir, exitNotFound, "job", "list") // serve creates it
	d := startServe(t, dir)
	d.until(t, func(e eventLine) bool { return e.Event == "end" })
	verb(t, dir, exitOK, "job", "pause", "quick")
	verb(t, dir, exitOK, "job", "resume", "quick")
	verb(t, dir, exitOK, "doctor", "--registry")
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Fatalf("ended by %v; standard error:\n%s", s, d.errors)
	}
	verb(t, dir, exitOK, "job", "pause", "quick")
	if out := verb(t, dir, exitOK, "job", "show", "quick"); !strings.Contains(out, "no server runs it") {
		t.Errorf("shown:\n%s", out)
	}
	verb(t, dir, exitConflict, "job", "trigger", "quick")

	// The job is still paused at the next start.
	d = startServe(t, dir)
	<-d.errors.await(`"ready"`)
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
	if out := verb(t, dir, exitOK, "job", "show", "quick", "-o", "json"); !strings.Contains(out, `"paused": true`) {
		t.Errorf("shown:\n%s", out)
	}
}
