package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var groups = flag.String("groups", "one", "memory groups in which the hostile modules run: one, which the commit decides, or all")

// groupSizes are the limits of the groups, in MiB.
var groupSizes = []int{256, 512, 768, 1024}

// memoryCase is a module that takes memory, run by eight jobs at once.
type memoryCase struct {
	name   string // of the jobs, which append a number
	module string // a file of testdata/hostile or of the conformance kit
	change func(wasm []byte) []byte
	limits string // further limits
	job    string // further keys of the job's table
	state  string // how the runs end; "|" between states
}

// memoryCases returns the cases that the server must survive. url gives an endless answer.
func memoryCases(url string) []memoryCase {
	return []memoryCase{
		{name: "memory", module: "memory-hoard", state: "timed_out"},
		{name: "recursion", module: "deep", state: "failed"},
		// A fetch that finds no room for its first element has nothing to do.
		{name: "batches", module: "batch-hoard", limits: `batch = "512MiB"`, job: `kind = "dataflow"`, state: "timed_out|skipped"},
		{name: "results", module: "result-hoard", limits: `result = "64MiB"`, state: "timed_out"},
		{
			name: "answers", module: "answer-hoard", state: "timed_out",
			job: fmt.Sprintf("allow = { http = [%q] }\nconfig = { request = %q }", url, "GET "+url+"/\n\n"),
		},
	}
}

const (
	together   = 8 // jobs of a case
	caseFires  = 2 // of each job
	caseSpaced = 2 // seconds between two cases
)

// TestHostileMemory runs a server in a memory group of a small machine: eight jobs of each case
// at a time, beside a job that is due each second.
func TestHostileMemory(t *testing.T) { //nolint:paralleltest // a concurrent test would use its memory and its time
	inGroups(t, serveInGroup)
}

// inGroups runs a test in memory groups of the requested sizes.
func inGroups(t *testing.T, test func(*testing.T, group)) {
	t.Helper()
	if !*hostile {
		return // it measures real time: make hostile
	}
	sizes := groupSizes
	if *groups != "all" {
		sizes = sizes[drawn(t):][:1]
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%dMiB", size), func(t *testing.T) { test(t, newGroup(t, size)) })
	}
}

// drawn returns an index of groupSizes that depends on the commit.
func drawn(t *testing.T) int {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return 0
	}
	hash, err := hex.DecodeString(strings.TrimSpace(string(out)))
	if err != nil || len(hash) == 0 {
		return 0
	}
	return int(hash[0]) % len(groupSizes)
}

func serveInGroup(t *testing.T, g group) {
	t.Helper()
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for piece := make([]byte, 64<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}))
	defer endless.Close()
	dir, cases := t.TempDir(), memoryCases(endless.URL)
	writeMemoryJobs(t, dir, endless.URL, cases)
	t.Setenv("GOMAXPROCS", "4") // so that there are workers for eight jobs and for the neighbour

	late := fireInGroup(t, g, dir, cases)
	stopped, back := time.Now().UnixMilli(), int64(0)
	again := startServeBy(t, dir, g.enter())
	again.until(t, func(e eventLine) bool {
		if e.Event == "start" && e.Job == "neighbour" && back == 0 {
			back = e.Scheduled
		}
		return e.Event == "end" && e.Job == "neighbour"
	})
	stopServe(t, again)

	verb(t, dir, exitOK, "history", "check")
	states := map[string]int{}
	for job, rows := range rowsByJob(t, dir) {
		name := strings.TrimRight(job, "0123456789-")
		want := "succeeded"
		if k := slices.IndexFunc(cases, func(c memoryCase) bool { return c.name == name }); k >= 0 {
			want = cases[k].state
		}
		for _, r := range rows {
			states[name+" "+r.State]++
			refused := strings.Contains(r.Error, "bytes of memory")
			away := r.State == "missed" && stopped-1000 < r.Due && r.Due < back
			if !refused && !away && !slices.Contains(strings.Split(want, "|"), r.State) {
				t.Errorf("%s is %s (%q), want %s", job, r.State, shorten(r.Error), want)
			}
		}
	}
	if late > neighbourStuck {
		t.Errorf("the neighbour ended %s late", late)
	}
	if n := g.kills(t); n != 0 {
		t.Errorf("the system ended %d processes for want of memory", n)
	}
	t.Logf("the neighbour ended at most %s late; at most %d MiB were used; %v", late, g.peak(t)>>20, states)
}

// fireInGroup runs a server until each job has ended twice, and returns how late the neighbour
// ended at most.
func fireInGroup(t *testing.T, g group, dir string, cases []memoryCase) (late time.Duration) {
	t.Helper()
	d := startServeBy(t, dir, g.enter())
	left := caseFires * together * len(cases)
	ended := map[string]int{}
	d.until(t, func(e eventLine) bool {
		switch {
		case e.Event != "end":
		case e.Job == "neighbour":
			by := time.Duration(e.UnixMS-e.Scheduled) * time.Millisecond
			if by > neighbourLate {
				t.Logf("MISSED: the neighbour ended %s late beside %s, at most %s is claimed", by, caseDue(cases, e.Scheduled), neighbourLate)
			}
			late = max(late, by)
		case ended[e.Job] < caseFires:
			ended[e.Job]++
			left--
		}
		return left == 0
	})
	stopServe(t, d)
	return late
}

// roundOf returns the number of seconds between two fires of a case: each has its own seconds
// in a round that fits into a minute.
func roundOf(cases []memoryCase) int64 {
	round := int64(caseSpaced * len(cases))
	for 60%round != 0 {
		round++
	}
	return round
}

// caseDue returns the case that fired last at an instant.
func caseDue(cases []memoryCase, unixMS int64) string {
	k := unixMS / 1000 % roundOf(cases) / caseSpaced
	if k >= int64(len(cases)) {
		return "none"
	}
	return cases[k].name
}

func stopServe(t *testing.T, d *daemon) {
	t.Helper()
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if s := d.end(t); s.ExitStatus() != exitOK || s.Signaled() {
		t.Fatalf("ended by %v; standard error:\n%s", s, d.errors)
	}
}

func writeMemoryJobs(t *testing.T, dir, url string, cases []memoryCase) {
	t.Helper()
	var toml strings.Builder
	fmt.Fprintf(&toml, "schema = 1\n[server]\ndata_dir = \"data\"\n[host.allow]\nhttp = [%q]\n"+
		"[modules.neighbour]\nsource = \"file:neighbour.wasm\"\n[jobs.neighbour]\nmodule = \"neighbour\"\ncron = \"* * * * * ?\"\n", url)
	copyModule(t, dir, "neighbour", "ok", nil)
	round := roundOf(cases)
	for k, c := range cases {
		copyModule(t, dir, c.name, c.module, c.change)
		fmt.Fprintf(&toml, "[modules.%[1]s]\nsource = \"file:%[1]s.wasm\"\n", c.name)
		for n := range together {
			job := fmt.Sprintf("jobs.%s-%d", c.name, n)
			fmt.Fprintf(&toml, "[%s]\nmodule = %q\ncron = \"%d/%d * * * * ?\"\ntimeout = \"500ms\"\n%s\n", job, c.name, caseSpaced*k, round, c.job)
			fmt.Fprintf(&toml, "[%s.limits]\ngrace = \"100ms\"\n%s\n", job, c.limits)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs.toml"), []byte(toml.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func rowsByJob(t *testing.T, dir string) map[string][]hostileRow {
	t.Helper()
	var listed struct {
		Rows []hostileRow `json:"rows"`
	}
	if err := json.Unmarshal([]byte(verb(t, dir, exitOK, "history", "list", "--limit", "10000", "-o", "json")), &listed); err != nil {
		t.Fatal(err)
	}
	rows := map[string][]hostileRow{}
	for _, r := range listed.Rows {
		rows[r.Job] = append(rows[r.Job], r)
	}
	return rows
}

// group is a control group with a memory limit.
type group struct {
	dir          string
	most         string // file with the peak usage
	events, word string // file and key of how often the system killed a process
}

// newGroup creates a group with a limit in MiB, in version 1 or 2 of control groups.
func newGroup(t *testing.T, size int) group {
	t.Helper()
	g := group{most: "memory.max_usage_in_bytes", events: "memory.oom_control", word: "oom_kill "}
	above, limit := "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
	if _, err := os.Stat(filepath.Join(above, limit)); err != nil {
		above, limit = "/sys/fs/cgroup", "memory.max"
		g = group{most: "memory.peak", events: "memory.events", word: "oom_kill "}
	}
	dir, err := os.MkdirTemp(above, "wasmjobd-hostile-") //nolint:usetesting // a control group must be a directory there
	if err != nil {
		t.Skip("left out: no memory group can be made, which takes root: ", err)
	}
	g.dir = dir
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, limit), []byte(strconv.Itoa(size<<20)), 0o600); err != nil {
		t.Skip("left out: the memory of groups is not bounded here: ", err)
	}
	return g
}

// enter returns a command that runs another command in the group.
func (g group) enter() []string {
	return []string{"sh", "-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, g.dir}
}

func (g group) kills(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, g.events))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut("\n"+string(text), "\n"+g.word)
	line, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// peak returns the peak usage, for people; 0 if the system does not report it.
func (g group) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, g.most))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n
}
