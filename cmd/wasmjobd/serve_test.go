package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

const serveTOML = `schema = 1
[server]
data_dir = "data"
drain_timeout = "10s"
[modules.says]
source = "file:says.wasm"
[modules.spins]
source = "file:spins.wasm"
[modules.text]
source = "file:text.wasm"
[jobs.quick]
module = "says"
cron = "* * * * * ?"
shards = 2
item_params = { 0 = "a" }
[jobs.long]
module = "spins"
cron = "0/3 * * * * ?"
shards = 2
timeout = "1s"
failover = true
limits = { grace = "100ms" }
[jobs.bad]
module = "text"
cron = "* * * * * ?"
`

// daemon is "wasmjobd serve" in a separate process: this test binary, under the name that makes
// it the program.
type daemon struct {
	*exec.Cmd
	out    io.Closer
	events *bufio.Scanner
	errors *lockedBuffer
}

// lockedBuffer is a buffer that one goroutine fills while others read.
type lockedBuffer struct {
	mu      sync.Mutex // guards text
	text    bytes.Buffer
	wanted  string
	arrived chan struct{} // closed when wanted is in text
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(p)
	if b.arrived != nil && strings.Contains(b.text.String(), b.wanted) {
		close(b.arrived)
		b.arrived = nil
	}
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await returns a channel that is closed when the text has come.
func (b *lockedBuffer) await(text string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan struct{})
	if strings.Contains(b.text.String(), text) {
		close(c)
		return c
	}
	b.wanted, b.arrived = text, c
	return c
}

// startServe starts the daemon in dir.
func startServe(t *testing.T, dir string, args ...string) *daemon {
	t.Helper()
	return startServeBy(t, dir, nil, args...)
}

// startServeBy makes a command start the daemon; the daemon's command line becomes its last
// arguments.
func startServeBy(t *testing.T, dir string, by []string, args ...string) *daemon {
	t.Helper()
	return startServeWith(t, dir, by, func(*exec.Cmd) {}, args...)
}

// startServeWith also changes the command before it starts.
func startServeWith(t *testing.T, dir string, by []string, change func(*exec.Cmd), args ...string) *daemon {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "wasmjobd")
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	command := slices.Concat(by, []string{program, "serve", "--events", "-"}, args)
	d := &daemon{Cmd: exec.CommandContext(t.Context(), command[0], command[1:]...), errors: &lockedBuffer{}}
	d.Dir = dir
	d.Stderr = d.errors
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out, d.events = out, bufio.NewScanner(out)
	change(d.Cmd)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// until reads events up to the first wanted one.
func (d *daemon) until(t *testing.T, wanted func(eventLine) bool) {
	t.Helper()
	for d.events.Scan() {
		if e := parseEvent(t, d.events.Bytes()); wanted(e) {
			return
		}
	}
	t.Fatalf("the event did not come; standard error:\n%s", d.errors)
}

func parseEvent(t *testing.T, line []byte) eventLine {
	t.Helper()
	var keys map[string]any
	var e eventLine
	if err := errors.Join(json.Unmarshal(line, &keys), json.Unmarshal(line, &e)); err != nil {
		t.Fatalf("event %s: %v", line, err)
	}
	if e.Code != nil { // only at the end of a guest that returned
		delete(keys, "code")
	}
	if e.Event == host.EventEnd {
		for _, name := range []string{"duration_ms", "error", "reason", "reason_code"} {
			delete(keys, name)
		}
	}
	want := []string{"attempt", "cause", "event", "instance", "item", "job", "parameter", "run", "scheduled_unix_ms", "state", "task_id", "unix_ms"}
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		t.Fatalf("event has keys %q, want %q", got, want)
	}
	return e
}

// end makes the daemon end and returns how it ended.
func (d *daemon) end(t *testing.T) syscall.WaitStatus {
	t.Helper()
	for d.events.Scan() {
		parseEvent(t, d.events.Bytes())
	}
	_ = d.Wait() // the status has it
	return d.ProcessState.Sys().(syscall.WaitStatus)
}

func serveFolder(t *testing.T, text string) string {
	t.Helper()
	dir := guests(t)
	if err := os.WriteFile(filepath.Join(dir, "jobs.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestServeRecoversFromKill(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, serveTOML)
	d := startServe(t, dir)
	d.until(t, func(e eventLine) bool { return e.Job == "quick" && e.Event == "end" && e.State == "succeeded" })
	d.until(t, func(e eventLine) bool { return e.Job == "long" && e.Event == "start" })
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.Signal() != syscall.SIGKILL {
		t.Fatalf("ended by %v; standard error:\n%s", s, d.errors)
	}
	if !strings.Contains(d.errors.String(), `"job":"bad"`) {
		t.Errorf("the bad module is not reported:\n%s", d.errors)
	}

	d = startServe(t, dir)
	d.until(t, func(e eventLine) bool { return e.Job == "long" && e.Event == "end" && e.Cause == "schedule" })
	d.until(t, func(e eventLine) bool { return e.Job == "quick" && e.Event == "end" })
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() {
		t.Fatalf("ended by %v; standard error:\n%s", s, d.errors)
	}
	if err := noMarks(t, filepath.Join(dir, "data", "registry")); err != nil {
		t.Error(err)
	}

	out := verb(t, dir, exitOK, "history", "check")
	t.Logf("history check: %s", out)
	var listed struct {
		Rows []struct {
			Job   string `json:"job"`
			State string `json:"state"`
		} `json:"rows"`
	}
	if err := json.Unmarshal([]byte(verb(t, dir, exitOK, "history", "list", "--job", "long", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(listed.Rows, func(r struct {
		Job   string `json:"job"`
		State string `json:"state"`
	},
	) bool {
		return r.State == "interrupted" || r.State == "taken_over"
	}) {
		t.Errorf("the interrupted run has no row: %+v", listed.Rows)
	}
}

// verb runs another verb in dir.
func verb(t *testing.T, dir string, want int, args ...string) string {
	t.Helper()
	var out, say bytes.Buffer
	args = append(args, "--config", filepath.Join(dir, "jobs.toml"))
	if code := run(t.Context(), args, os.Environ(), strings.NewReader(""), &out, &say); code != want {
		t.Errorf("wasmjobd %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, &out, &say)
	}
	return out.String()
}

// noMarks looks for nodes that exist only during a run.
func noMarks(t *testing.T, dir string) error {
	t.Helper()
	r, err := embedded.Open(dir, embedded.Options{})
	if err != nil {
		return err
	}
	s, err := r.Open(t.Context(), nil)
	if err != nil {
		return err
	}
	var walk func(path string) error
	walk = func(path string) error {
		n, err := s.Read(t.Context(), path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, "/running") || n.Stat.Owner != 0 || bytes.Contains(n.Data, []byte(`"open"`)) {
			t.Errorf("left in the registry: %s %s", path, n.Data)
		}
		for _, c := range n.Children {
			if err := walk(strings.TrimSuffix(path, "/") + "/" + c); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(walk("/"), s.Close(), r.Close())
}

func TestServeSecondSignal(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, "schema = 1\n[server]\ndrain_timeout = \"1h\"\n[modules.spins]\nsource = \"file:spins.wasm\"\n"+
		"[jobs.endless]\nmodule = \"spins\"\ncron = \"* * * * * ?\"\n")
	d := startServe(t, dir)
	d.until(t, func(e eventLine) bool { return e.Event == "start" })
	stopping := d.errors.await("stopping")
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-stopping

	// Meanwhile the directory is in use.
	second := startServe(t, dir)
	if s := second.end(t); s.ExitStatus() != exitConflict || !strings.Contains(second.errors.String(), "in use") {
		t.Errorf("a second server on the directory ended by %v:\n%s", s, second.errors)
	}

	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.Signal() != syscall.SIGINT && s.ExitStatus() != exitInterrupted {
		t.Errorf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

func TestServeGoesOnWithoutItsReader(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, "schema = 1\n[modules.says]\nsource = \"file:says.wasm\"\n[jobs.j]\nmodule = \"says\"\ncron = \"* * * * * ?\"\n")
	d := startServe(t, dir)
	d.until(t, func(e eventLine) bool { return e.Event == "start" })
	if err := d.out.Close(); err != nil {
		t.Fatal(err)
	}
	<-d.errors.await("events cannot be written any more")
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(); err != nil || !strings.Contains(d.errors.String(), `"stopped"`) {
		t.Errorf("ended by %v:\n%s", err, d.errors)
	}
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		args       []string
		code       int
		says       string
	}{
		{"no good module", "schema = 1\n[modules.m]\nsource = \"file:text.wasm\"\n[jobs.j]\nmodule = \"m\"\ncron = \"* * * * * ?\"\n", nil, exitInvalid, "not a Wasm binary"},
		{"no file", "schema = 1\n[modules.m]\nsource = \"file:gone.wasm\"\n[jobs.j]\nmodule = \"m\"\ncron = \"* * * * * ?\"\n", nil, exitInvalid, "there is no file"},
		{"bad config", "schema = 1\n[jobs.j]\nmodul = \"m\"\n", nil, exitInvalid, "modul"},
		{"bad events", "schema = 1\n", []string{"--events", "file"}, exitUsage, "write - for standard output"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := serveFolder(t, c.text)
			var say bytes.Buffer
			args := append([]string{"serve", "--config", filepath.Join(dir, "jobs.toml")}, c.args...)
			code := run(t.Context(), args, nil, strings.NewReader(""), io.Discard, &say)
			if code != c.code || !strings.Contains(say.String(), c.says) {
				t.Errorf("exit code %d, want %d; says\n%s", code, c.code, &say)
			}
		})
	}
}
