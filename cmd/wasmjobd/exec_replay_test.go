package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/trace"
	"github.com/wasmjob/wasmjob/host/trace/sqltrace"
)

const replayTOML = `[server]
data_dir = "data"
[host.allow]
state = true
[modules.json]
source = "file:json.wasm"
[modules.state]
source = "file:state.wasm"
[jobs.context]
module = "json"
cron = "* * * * * ?"
shards = 3
param = "p"
item_params = { 0 = "a", 1 = "b" }
[jobs.keeps]
module = "state"
cron = "* * * * * ?"
shards = 2
allow.state = true
`

// ran is the part of a history row that a test needs.
type ran struct {
	Job, Run, Instant, State, Result string
	Item, Attempt                    int
}

// historyOf returns the rows of an item, newest first.
func historyOf(t *testing.T, dir, name string, item int) []ran {
	t.Helper()
	var page struct{ Rows []ran }
	text := verb(t, dir, exitOK, "history", "list", "--job", name, "--item", strconv.Itoa(item), "-o", "json")
	if err := json.Unmarshal([]byte(text), &page); err != nil || len(page.Rows) == 0 {
		t.Fatalf("%v: %s", err, text)
	}
	return page.Rows
}

// A run of the history is replayed with everything recorded about it, and the output says what
// is not recorded.
func TestExecReplaysTheHistory(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, replayTOML)
	wasm, err := os.ReadFile("../../abi/conformance/wat/json.wasm")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "json.wasm"), wasm, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	d := startServe(t, dir)
	ended := func(name string, item int) {
		d.until(t, func(e eventLine) bool { return e.Job == name && e.Item == item && e.Event == "end" })
	}
	ended("keeps", 0)
	ended("keeps", 1)
	ended("context", 1)
	ended("context", 1) // the row of the first was stored
	replay := func(code int, args ...string) (out, say string) {
		t.Helper()
		var o, e bytes.Buffer
		all := append([]string{"exec", "--config", filepath.Join(dir, "jobs.toml")}, args...)
		if got := run(t.Context(), all, nil, strings.NewReader(""), &o, &e); got != code {
			t.Errorf("%q: code %d, want %d\n%s%s", args, got, code, o.String(), e.String())
		}
		return o.String(), e.String()
	}
	contains := func(text string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(text, part) {
				t.Errorf("no %q in:\n%s", part, text)
			}
		}
	}

	// Beside the server, which alone can open the registry and is therefore asked.
	out, _ := replay(exitOK, "--replay", "keeps/0/"+historyOf(t, dir, "keeps", 0)[0].Run, "-o", "json")
	contains(out, `"the state: the item's present one; new values are discarded"`)
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	d.end(t)

	for _, row := range historyOf(t, dir, "context", 1) {
		if row.State != "succeeded" { // the run that the end of the server interrupted
			continue
		}
		out, say := replay(exitOK, "--replay", "context/1/"+row.Run)
		contains(say, "replays context/1/"+row.Run+", attempt 1 of ", "which is succeeded", "different: parameters, settings, limits and grants")
		contains(out, row.Result) // everything that the guest can read is the same
	}
	failed := historyOf(t, dir, "keeps", 1)[0]
	out, say := replay(exitRunFailed, "--replay", "keeps/1/"+failed.Instant)
	contains(say, "which is failed: the job failed with code 1", "the state: the item's present one; new values are discarded")
	contains(out, "verdict     failed")
	out, _ = replay(exitOK, "--replay", "keeps/0/"+historyOf(t, dir, "keeps", 0)[0].Run, "-o", "json")
	contains(out, `"not_restored": [`)
	if strings.Contains(out, `"state": [`) {
		t.Errorf("the state of the item was not read:\n%s", out)
	}

	// A file for the state, and another module.
	state := filepath.Join(dir, "state.json")
	out, _ = replay(exitOK, "--replay", "keeps/0/"+historyOf(t, dir, "keeps", 0)[0].Run, "--allow", "state="+state)
	contains(out, "state       a = 1\n")
	if _, err := os.Stat(state); err == nil {
		t.Error("the state was kept without --write")
	}
	replay(exitOK, "--replay", "keeps/0/"+historyOf(t, dir, "keeps", 0)[0].Run, "--allow", "state="+state, "--write")
	if text, err := os.ReadFile(state); err != nil || !strings.Contains(string(text), `"a": "1"`) {
		t.Errorf("%s, %v", text, err)
	}
	_, say = replay(exitOK, filepath.Join(dir, "says.wasm"), "--replay", "keeps/1/"+failed.Run)
	contains(say, "different: the module: ", "info  hi")

	for _, tt := range []struct {
		code int
		args []string
		say  string
	}{
		{exitNotFound, []string{"--replay", "keeps/1/7"}, "has no such run"},
		{exitNotFound, []string{"--replay", "keeps/1/" + failed.Run, "--attempt", "7"}, "has no such run"},
		{exitUsage, []string{"--replay", "keeps"}, "write job/item/run"},
		{exitUsage, []string{"--replay", "keeps/1/7", "--item", "1"}, "--item: --replay reads this from the history"},
		{exitUsage, []string{"--replay", "keeps/1/7", "--allow", "clock"}, "only state=FILE can be combined with --replay"},
		{exitUsage, []string{"a.wasm", "b.wasm", "--replay", "keeps/1/7"}, "write one module, or none"},
		{exitUsage, []string{"a.wasm", "--write"}, "--write needs --replay"},
	} {
		_, say := replay(tt.code, tt.args...)
		contains(say, tt.say)
	}
}

// A run that had a parameter of its own gets that again.
func TestExecReplaysTheParameterOfARun(t *testing.T) {
	t.Parallel()
	dir := serveFolder(t, replayTOML)
	wasm, err := os.ReadFile("../../abi/conformance/wat/json.wasm")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "json.wasm"), wasm, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "data"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err := sqltrace.Open(t.Context(), sqltrace.File(filepath.Join(dir, "data", "history.db")))
	if err != nil {
		t.Fatal(err)
	}
	row := trace.Row{Job: "context", Item: 1, Run: "t-1", Attempt: 1, Instant: 60_000, Cause: trace.Trigger, State: trace.Succeeded, Digest: "d", Param: "own"}
	if err := errors.Join(rows.Write(t.Context(), []trace.Row{row}), rows.Close()); err != nil {
		t.Fatal(err)
	}
	out := verb(t, dir, exitOK, "exec", filepath.Join(dir, "json.wasm"), "--replay", "context/1/t-1")
	if !strings.Contains(out, `"jobParameter":"own"`) {
		t.Error(out)
	}
}
