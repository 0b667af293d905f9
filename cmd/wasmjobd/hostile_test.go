package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"
)

var hostile = flag.Bool("hostile", false, "run the hostile modules")

// hostileCase is a malicious or broken module as a job of its own.
type hostileCase struct {
	name   string
	module string // a file of testdata/hostile or of the conformance kit; default: name
	change func(wasm []byte) []byte
	job    string // further keys of its table
	// state and reason are how its runs must end; "|" between states if the load of the machine
	// decides.
	state, reason string
	items         int    // of the job; default: 1
	omit          string // why it cannot be tested here
}

// runs returns the number of runs in two fires.
func (c hostileCase) runs() int { return 2 * max(c.items, 1) }

const secretValue = "hunter2-hunter2-hunter2"

const (
	// neighbourLate is how late the neighbour may be because of a guest. A busy machine can
	// exceed it by itself, so an excess is only reported.
	neighbourLate = 50 * time.Millisecond
	// neighbourStuck is a delay that no load explains.
	neighbourStuck = time.Second
)

// TestHostile runs every hostile module twice in one server with default settings, one after
// the other, beside a job that is due each second.
func TestHostile(t *testing.T) {
	if !*hostile {
		return // it measures real time: make hostile
	}
	dir := t.TempDir()
	cases := hostileCases(t, dir)
	writeHostile(t, dir, cases)
	table := &strings.Builder{}
	late := map[string]time.Duration{}

	rows := fireAll(t, dir, cases, late)
	// Once more with the cache, every file of which is damaged.
	damaged := damageCache(t, filepath.Join(dir, "data", "cache"))
	again := fireAll(t, dir, cases[:1], map[string]time.Duration{})

	w := tabwriter.NewWriter(table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "module\tstate\ttook ms\tneighbour late ms\treason")
	for _, c := range cases {
		if c.omit != "" {
			t.Logf("left out: %s: %s", c.name, c.omit)
			continue
		}
		mine := rows[c.name]
		if len(mine) < c.runs() {
			t.Errorf("%s has %d rows, wanted %d", c.name, len(mine), c.runs())
			continue
		}
		for _, r := range mine {
			slow := r.State == "timed_out" && c.state != r.State // stopped before it could fail otherwise
			if !slices.Contains(strings.Split(c.state, "|"), r.State) || !slow && !strings.Contains(r.Error+r.Result, c.reason) {
				t.Errorf("%s is %s (%q, %q), wanted %s for %q", c.name, r.State, r.Error, r.Result, c.state, c.reason)
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\n", c.name, mine[0].State, mine[0].End-mine[0].Start, late[c.name].Milliseconds(), shorten(mine[0].Error))
		switch by := late[c.name]; {
		case by > neighbourStuck:
			t.Errorf("the neighbour was %s late beside %s", by, c.name)
		case by > neighbourLate:
			t.Logf("MISSED: the neighbour was %s late beside %s, at most %s is claimed", by, c.name, neighbourLate)
		}
	}
	if damaged == 0 || len(again["neighbour"]) == 0 {
		t.Errorf("%d files of the cache damaged; afterwards %d runs of the neighbour", damaged, len(again["neighbour"]))
	}
	fmt.Fprintf(w, "damaged cache (%d files)\tmended\t\t\t\n", damaged)
	_ = w.Flush()
	t.Logf("\n%s", table)
}

func hostileCases(t *testing.T, dir string) []hostileCase {
	t.Helper()
	files := filepath.Join(dir, "granted")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{filepath.Join(files, "file"): "x", filepath.Join(dir, "outside"): "y"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": "../outside", "absolute": filepath.Join(dir, "outside"), "up": ".."} {
		if err := os.Symlink(target, filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(files, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a guest reached a server that nobody granted") }))
	t.Cleanup(inner.Close)
	redirects := httptest.NewServer(http.RedirectHandler(inner.URL, http.StatusFound))
	t.Cleanup(redirects.Close)
	silence := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-silence:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(silence); silent.Close() })
	upgrades := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "upgrade")
		w.Header().Set("Upgrade", "chat")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	t.Cleanup(upgrades.Close)
	_, port, err := net.SplitHostPort(inner.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	loop := loopbackName(t)
	byName := hostileCase{
		name: "http-by-dns", module: "fetch", state: "failed",
		job: fmt.Sprintf("allow = { http = [%q] }\nconfig = { request = %q }", "http://"+loop+":"+port+"/", "GET http://"+loop+":"+port+"/\n\n"),
	}
	if loop == "" {
		byName.omit = "/etc/hosts has no name for loopback beside localhost"
	}
	at := func(path string) string {
		return fmt.Sprintf("allow = { dirs = [%q] }\nconfig = { path = %q }", "ro:"+files+":/in", path)
	}
	const late = "timed_out"
	cases := []hostileCase{
		{name: "loop", state: late},
		{name: "init-loop", module: "initloop", state: late},
		{name: "start-loop", module: "startloop", state: late},
		{name: "exponential-recursion", module: "calltree", state: late},
		{name: "mutual-recursion", module: "mutual", state: late},
		{name: "deep-stack", module: "deep", state: "failed|timed_out", reason: "stack"},
		{name: "memory-bomb", state: "failed", reason: "memory"},
		{name: "large-memory", module: "large", state: "failed", reason: "memory"},
		{name: "table-bomb", state: "failed"},
		{name: "fill", state: late},
		{name: "log-flood", state: late},
		{name: "giant-result", state: "failed"},
		{name: "trap-then-again", module: "trap", state: "failed", reason: "unreachable"},
		{name: "exit", state: "failed", reason: "exit code 0"},
		{name: "sleeper", state: late},
		{name: "wasi-sleeper", state: late},
		{name: "silent-server", module: "fetch", state: late, job: fmt.Sprintf("allow = { http = [%q] }\nconfig = { request = %q }", silent.URL, "GET "+silent.URL+"/\n\n")},
		{name: "http-redirect", module: "fetch", state: "failed", job: fmt.Sprintf("allow = { http = [%q] }\nconfig = { request = %q }", redirects.URL, "GET "+redirects.URL+"/\n\n")},
		{name: "http-upgrade", module: "fetch", state: "failed", job: fmt.Sprintf("allow = { http = [%q] }\nconfig = { request = %q }", upgrades.URL, "GET "+upgrades.URL+"/\n\n")},
		byName,
		{name: "http-not-granted", module: "fetch", state: "failed", job: fmt.Sprintf("config = { request = %q }", "GET "+inner.URL+"/\n\n")},
		{name: "tell-secret", state: "failed", reason: "*", job: `allow = { secrets = ["token"] }`},
		{name: "symlink", module: "open", state: "failed", job: at("link")},
		{name: "symlink-absolute", module: "open", state: "failed", job: at("absolute")},
		{name: "symlink-up", module: "open", state: "failed", job: at("up/outside")},
		{name: "dot-dot", module: "open", state: "failed", job: at("../outside")},
		{name: "absolute-path", module: "open", state: "failed", job: at("/etc/passwd")},
		{name: "fifo", module: "open", state: "failed", job: at("fifo")},
		{name: "level", module: "level", state: "failed", reason: "log level"},
		{name: "missing-marker", module: "unmarked", state: "failed", reason: "wasmjob_abi_v1"},
		{name: "wrong-signature", module: "signature", state: "failed", reason: "wasmjob_execute"},
		{name: "handed-on", module: "handed", state: "failed", reason: "wasmjob_execute is a function that the module imports"},
		{name: "unknown-import", module: "unknown", state: "failed", reason: "teleport"},
		{name: "component", module: "ok", state: "failed", reason: "component", change: func(b []byte) []byte {
			return slices.Concat([]byte("\x00asm\x0d\x00\x01\x00"), b[8:])
		}},
		{name: "truncated", module: "ok", state: "failed", change: func(b []byte) []byte { return b[:len(b)-5] }},
		{name: "bit-flipped", module: "outside", state: "failed", change: func(b []byte) []byte {
			b[10] ^= 0x40
			return b
		}},
		{name: "huge-count", module: "ok", state: "failed", change: func(b []byte) []byte {
			return append(b[:8:8], 3, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0)
		}},
		{name: "huge-memory", module: "ok", state: "failed", change: func(b []byte) []byte {
			// The memory section of ok.wasm is 5, 3, 1, 0, 1: make it require 65,536 pages.
			k := strings.Index(string(b), "\x05\x03\x01\x00\x01")
			return slices.Concat(b[:k], []byte{5, 5, 1, 0, 0x80, 0x80, 4}, b[k+5:])
		}},
	}
	cases = append(cases, hostileCase{name: "jump-tables", module: "ok", state: "failed", reason: "too long to compile", change: jumpTables})
	// Each item passes a range beyond the memory to another function.
	return append(cases, hostileCase{
		name: "pointers", module: "outside", state: "failed", reason: "memory", items: 21,
		job: "shards = 21\nallow = { random = true, state = true, secrets = [\"token\"], http = [\"https://example.org/\"] }",
	})
}

// loopbackName finds a name of this machine that resolves to loopback without saying so.
func loopbackName(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 || !strings.HasPrefix(words[0], "127.") {
			continue
		}
		for _, name := range words[1:] {
			if !strings.Contains(name, "localhost") {
				return name
			}
		}
	}
	return ""
}

func writeHostile(t *testing.T, dir string, cases []hostileCase) {
	t.Helper()
	var toml strings.Builder
	fmt.Fprintf(&toml, "schema = 1\n[server]\ndata_dir = \"data\"\n[host.allow]\nhttp = [%s]\n"+
		"secrets = [\"token\"]\nrandom = true\nstate = true\ndirs = [%q]\n[host.secrets]\ntoken = \"file:token\"\n",
		strings.Join(grantedURLs(cases), ", "), "ro:"+filepath.Join(dir, "granted"))
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte(secretValue+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	toml.WriteString("[modules.neighbour]\nsource = \"file:neighbour.wasm\"\n[jobs.neighbour]\nmodule = \"neighbour\"\ncron = \"* * * * * ?\"\n")
	copyModule(t, dir, "neighbour", "ok", nil)
	for k, c := range cases {
		if c.omit != "" {
			continue
		}
		module := c.module
		if module == "" {
			module = c.name
		}
		copyModule(t, dir, c.name, module, c.change)
		second := 2 * k % 60
		fmt.Fprintf(&toml, "[modules.%[1]s]\nsource = \"file:%[1]s.wasm\"\n[jobs.%[1]s]\nmodule = %[1]q\ncron = \"%[2]d,%[3]d * * * * ?\"\ntimeout = \"300ms\"\nlimits = { grace = \"100ms\" }\n%[4]s\n",
			c.name, second, second+1, c.job)
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs.toml"), []byte(toml.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// grantedURLs returns all URLs that jobs ask for, quoted: the server grants them.
func grantedURLs(cases []hostileCase) []string {
	all := []string{`"https://*"`}
	for _, c := range cases {
		if m := regexp.MustCompile(`http = \[("http:[^]]*")\]`).FindStringSubmatch(c.job); m != nil {
			all = append(all, m[1])
		}
	}
	return all
}

func copyModule(t *testing.T, dir, name, module string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "hostile", module+".wasm"))
	if err != nil {
		b, err = os.ReadFile(filepath.Join("..", "..", "abi", "conformance", "wat", module+".wasm"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		b = change(b)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".wasm"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

type hostileRow struct {
	Job    string `json:"job"`
	State  string `json:"state"`
	Error  string `json:"error"`
	Result string `json:"result"`
	Due    int64  `json:"instant_unix_ms"`
	Start  int64  `json:"start_unix_ms"`
	End    int64  `json:"end_unix_ms"`
}

// fireAll runs a server until every case has ended twice, and returns the rows by job. late
// receives, by case, how late the neighbour was at most while the case ran.
func fireAll(t *testing.T, dir string, cases []hostileCase, late map[string]time.Duration) map[string][]hostileRow {
	t.Helper()
	d := startServe(t, dir)
	waiting := map[string]int{}
	for _, c := range cases {
		if c.omit == "" {
			waiting[c.name] = c.runs()
		}
	}
	due := map[int64][]string{} // by second, the cases that fire then
	behind := map[int64]time.Duration{}
	d.until(t, func(e eventLine) bool {
		switch {
		case e.Event == "start" && e.Job == "neighbour":
			behind[e.Scheduled/1000] = max(behind[e.Scheduled/1000], time.Duration(e.UnixMS-e.Scheduled)*time.Millisecond)
		case e.Event == "start":
			due[e.Scheduled/1000] = append(due[e.Scheduled/1000], e.Job)
		case e.Job != "neighbour" && waiting[e.Job] > 0:
			waiting[e.Job]--
		}
		for _, n := range waiting {
			if n > 0 {
				return false
			}
		}
		return true
	})
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() {
		t.Fatalf("ended by %v; standard error:\n%s", s, d.errors)
	}
	if strings.Contains(d.errors.String(), secretValue) {
		t.Error("the secret is in the log")
	}
	for second, names := range due {
		for _, name := range names {
			late[name] = max(late[name], behind[second], behind[second+1])
		}
	}
	var listed struct {
		Rows []hostileRow `json:"rows"`
	}
	if err := json.Unmarshal([]byte(verb(t, dir, exitOK, "history", "list", "--limit", "10000", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]hostileRow{}
	for _, r := range listed.Rows {
		if strings.Contains(r.Error+r.Result, secretValue) {
			t.Error("the secret is in the history")
		}
		rows[r.Job] = append(rows[r.Job], r)
	}
	return rows
}

// damageCache flips a byte in the middle of each file.
func damageCache(t *testing.T, dir string) (files int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if err != nil || len(b) == 0 {
			return err
		}
		b[len(b)/2] ^= 1
		files++
		return os.WriteFile(name, b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
