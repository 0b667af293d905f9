package conformance

import (
	"cmp"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
)

//go:embed wat/*.wasm
var built embed.FS

// module returns a built module of wat/.
func module(name string) []byte {
	b, err := built.ReadFile("wat/" + name + ".wasm")
	if err != nil {
		panic(err) // the names are ours
	}
	return b
}

// request returns a basic request for a module of wat/ as a job of a kind.
func request(name, kind string) Request { return Guest{Module: module(name)}.request(kind, "") }

// HostCases returns the cases that check a host. Some need files, which it creates in
// dir; the caller removes dir.
func HostCases(dir string) ([]Case, error) {
	var cases []Case
	add := func(name, rule string, r Request, w Want) {
		cases = append(cases, Case{name, rule, r, w})
	}
	entry(add)
	read(add)
	mistakes(add)
	refused(add)
	endless(add)
	bounds(add)
	batches(add)
	kept(add)
	strategies(add)
	rest(add)
	if err := files(add, dir); err != nil {
		return nil, err
	}
	return cases, nil
}

// sorted iterates over a map in the order of its keys.
func sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// item returns the request for item i. Most modules of wat/ choose by the item's number
// what to do, so one module has many cases.
func item(r Request, i int) Request {
	r.Run.Item, r.Run.Total = i, 1000
	return r
}

// passes wants a run that succeeds.
func passes() Want { return Want{Verdict: one("ok"), Code: new(int32(0))} }

// entry adds cases about how an entry ends: its codes, its reason, its traps, and that the
// next run has a fresh instance.
func entry(add adder) {
	const rule = "ABI.md: Results"
	add("ok", rule, request("ok", "simple"), passes())
	for code, verdict := range sorted(map[int]string{0: "ok", 1: "failed", 2: "retryable", 3: "skipped", 4: "failed", 127: "failed", 128: "failed", 900: "failed"}) {
		add("code "+strconv.Itoa(code), rule, item(request("code", "simple"), code), Want{Verdict: one(verdict), Code: new(int32(code))})
	}
	add("code -1", rule, request("negative", "simple"), Want{Verdict: one("failed"), Code: new(int32(-1))})
	add("reason", rule, item(request("reason", "simple"), 0), Want{Verdict: one("failed"), Reason: one("it failed")})
	add("reason: not UTF-8", "ABI.md: Rules, 5", item(request("reason", "simple"), 1), Want{Verdict: one("failed"), Reason: []string{"bad ", " text"}, Check: utf8Reason})
	add("reason: long", "REFERENCE.md: Functions", item(request("reason", "simple"), 2), Want{Verdict: one("failed"), Reason: one(strings.Repeat("x", 8000)), Check: func(a Answer) error {
		if strings.Contains(a.Reason, strings.Repeat("x", 8193)) {
			return errors.New("more than 8 KiB are kept")
		}
		return nil
	}})
	for i, how := range []string{"unreachable", "division", "memory", "call"} {
		add("trap: "+how, rule, item(request("trap", "simple"), i), Want{Verdict: one("failed")})
	}
	add("exit", "ABI.md: WASI", request("exit", "simple"), Want{Verdict: one("failed")})
	add("fresh: trap", "ABI.md: Rules, 8", item(request("fresh", "simple"), 1), Want{Verdict: one("failed"), Code: new(int32(0))})
	add("fresh", "ABI.md: Rules, 8", item(request("fresh", "simple"), 0), passes())
	add("fresh: again", "ABI.md: Rules, 8", item(request("fresh", "simple"), 0), passes())
}

// utf8Reason requires that the host has made the reason UTF-8.
func utf8Reason(a Answer) error {
	if strings.ToValidUTF8(a.Reason, "") != a.Reason {
		return fmt.Errorf("the reason is not UTF-8: %q", a.Reason)
	}
	return nil
}

// read adds cases about what a guest reads of its run. The item's number names a field,
// and the result is its value or the error code.
func read(add adder) {
	const rule = "REFERENCE.md: Fields"
	for id, want := range sorted(map[int]string{
		abi.FieldJobName: "conformance", abi.FieldTaskID: "conformance@-@1,2@-@READY@-@" + instance, abi.FieldJobParam: "p",
		abi.FieldShardingParam: "north", abi.FieldInstanceID: instance, abi.FieldNamespace: "kit",
		abi.FieldRunID: "conformance/1/1700000000000", abi.FieldReason: "-3", 0: "-1", 11: "-1", 99: "-1", abi.FieldShardingItem: "-1",
	}) {
		r := item(request("text", "simple"), id)
		r.Job.Param = "p"
		add("text "+strconv.Itoa(id), rule, r, Want{Verdict: one("ok"), Result: new(want)})
	}
	absent := item(request("text", "simple"), abi.FieldShardingParam)
	absent.Run.ItemParam = nil
	add("text 4: none", rule, absent, Want{Verdict: one("ok"), Result: new("-3")})
	for id, want := range sorted(map[int]int64{
		abi.FieldShardingTotal: 1000, abi.FieldShardingItem: abi.FieldShardingItem, abi.FieldFireTime: instant, abi.FieldDeadline: instant + 20_000,
		abi.FieldAttempt: 2, abi.FieldFailover: 1, abi.FieldMisfire: 0, abi.FieldHostMinor: abi.HostMinor, abi.FieldStreaming: 0,
		abi.FieldFence: 42, abi.FieldScheduledTime: instant, abi.FieldFetchCount: 0, abi.FieldOutcome: abi.NoInt, abi.FieldFireFailed: abi.NoInt, 0: abi.NoInt, 116: abi.NoInt, abi.FieldJobName: abi.NoInt,
	}) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(want))
		add("number "+strconv.Itoa(id), rule, item(request("number", "simple"), id), Want{Verdict: one("ok"), Result: new(string(b))})
	}
	awkward := request("json", "simple")
	awkward.Job.Param, awkward.Run.ItemParam = `<a href='x'>&"\`+"\t\u2028", nil
	add("json", "ABI.md: The context as JSON", awkward, Want{Verdict: one("ok"), Result: new(
		`{"jobName":"conformance","taskId":"conformance@-@1,2@-@READY@-@10.0.0.1@-@7","shardingTotalCount":3,` +
			`"jobParameter":"\u003ca href\u003d\u0027x\u0027\u003e\u0026\"\\\t\u2028","shardingItem":1,` +
			`"wasmjob":{"runId":"conformance/1/1700000000000","attempt":2,"scheduledTime":1700000000000,"fence":42,"items":{"1":"north","2":null}}}`)})
	add("room", "ABI.md: Rules, 3", request("room", "simple"), passes())
}

// mistakes adds cases of calls that a guest must not make. Each of the 21 of the module
// "outside" names memory outside of its own.
func mistakes(add adder) {
	const rule = "ABI.md: Rules, 4"
	for i := range 21 {
		r := item(request("outside", "simple"), i)
		r.Allow = Allow{State: true, Random: true, Secrets: map[string]string{"key": "value"}, HTTP: []Exchange{{Method: "GET", URL: network + "/", Status: 200}}}
		add("outside "+strconv.Itoa(i), rule, r, Want{Verdict: one("failed"), Code: new(int32(0)), Check: func(a Answer) error {
			if a.Result != nil {
				return fmt.Errorf("the result is %q, wanted none", a.Result)
			}
			return nil
		}})
	}
	add("level", rule, request("level", "simple"), Want{Verdict: one("failed"), Code: new(int32(0))})
	add("denied", "ABI.md: Rules, 7", request("denied", "simple"), passes())
	add("phase", "ABI.md: Rules, 6", request("phase", "simple"), passes())
	r := request("arguments", "simple")
	r.Allow = Allow{State: true, Random: true, Secrets: map[string]string{"key": "value"}, HTTP: []Exchange{{Method: "GET", URL: network + "/", Status: 200}}}
	add("arguments", "REFERENCE.md: Error codes", r, passes())
}

// refused adds modules that a host must refuse. Its reason must name the parts.
func refused(add adder) {
	const rule = "ABI.md: What is refused"
	no := func(name string, parts ...string) {
		add("refused: "+name, rule, request(name, "simple"), Want{Refused: parts})
	}
	no("unknown", "ctx_colour", "teleport")
	no("unmarked", abi.ExportMarker)
	no("signature", abi.ExportExecute)
	no("handed", abi.ExportExecute)
	no("import", "log_level")
	no("both", "_start")
	no("memoryless", "memory")
	no("imported", "memory")
	no("reserved", "wasmjob_fuel")
	no("half", abi.ExportProcess)
	sound := module("ok")
	bytes := func(name string, b []byte, parts ...string) {
		r := request("ok", "simple")
		r.Module = b
		add("refused: "+name, rule, r, Want{Refused: append([]string{""}, parts...)})
	}
	bytes("empty", nil)
	bytes("text", []byte("(module)"))
	bytes("component", append([]byte("\x00asm\x0d\x00\x01\x00"), sound[8:]...), "component")
	bytes("version", append([]byte("\x00asm\x02\x00\x00\x00"), sound[8:]...))
	for _, n := range []int{4, 8 + 3, len(sound) / 2, len(sound) - 1} {
		bytes("cut at "+strconv.Itoa(n), sound[:n])
	}
	// A code section that declares 2^32-1 functions.
	bytes("huge count", append(slices.Clone(sound[:8]), 3, 6, 0xff, 0xff, 0xff, 0xff, 0x0f, 0))
}

// endless adds runs that never end by themselves. The host ends them at their deadline, or
// when their fuel is used up.
func endless(add adder) {
	const rule = "ABI.md: Stopping"
	for _, name := range []string{"loop", "initloop", "startloop", "calltree", "mutual", "fill"} {
		r := request(name, "simple")
		r.Limits = Limits{Timeout: 50, Grace: 50}
		add(name, rule, r, Want{Verdict: one("deadline")})
	}
	add("deep", rule, request("deep", "simple"), Want{Verdict: one("failed")})
	for _, name := range []string{"loop", "calltree", "fill"} {
		r := request(name, "simple")
		r.Limits.Fuel = 1_000_000
		add("fuel: "+name, "ABI.md: Fuel", r, Want{Verdict: one("fuel")})
	}
}

// bounds adds runs that want more memory, log lines or result than a host may give.
func bounds(add adder) {
	const rule = "ABI.md: What is refused"
	grow := request("grow", "simple")
	grow.Limits.Memory = 4 << 20
	add("grow", rule, grow, Want{Verdict: one("ok"), Check: func(a Answer) error {
		if len(a.Result) != 4 || binary.LittleEndian.Uint32(a.Result) > 64 {
			return fmt.Errorf("the memory grew to % x pages, the limit is 64", a.Result)
		}
		return nil
	}})
	add("large", rule, request("large", "simple"), Want{Verdict: one("failed"), Reason: one("memory")})
	add("tables", rule, request("tables", "simple"), Want{})
	const levels = "ABI.md: Levels"
	add("flood", levels, request("flood", "simple"), Want{Verdict: one("ok"), Lines: one("info flood"), Check: func(a Answer) error {
		if len(a.Logs) > 1000 {
			return fmt.Errorf("%d lines of 20,000 were kept", len(a.Logs))
		}
		return nil
	}})
	add("line", levels, request("line", "simple"), Want{Verdict: one("ok"), Check: func(a Answer) error {
		if len(a.Logs) != 2 {
			return fmt.Errorf("%d lines, wanted 2", len(a.Logs))
		}
		if first := a.Logs[0].Text; strings.ContainsAny(first, "\x1b\x00\n") || strings.ToValidUTF8(first, "") != first {
			return fmt.Errorf("the line is %q", first)
		}
		if long := len(a.Logs[1].Text); long > 5000 {
			return fmt.Errorf("%d bytes of the long line were kept", long)
		}
		return nil
	}})
	add("result", "REFERENCE.md: Functions", request("result", "simple"), Want{Verdict: one("ok"), Code: new(int32(0)), Result: new(strings.Repeat("x", 1<<20))})
}

// batches adds cases of dataflow jobs: how many batches there are, and which elements
// count as failed.
func batches(add adder) {
	const rule = "ABI.md: dataflow"
	with := func(name, wat string, i int, change func(*Request), w Want) {
		r := item(request(wat, "dataflow"), i)
		if change != nil {
			change(&r)
		}
		add(name, rule, r, w)
	}
	streaming := func(r *Request) { r.Job.Streaming = true }
	with("flow: 0", "flow", 0, nil, Want{Verdict: one("skipped"), Flow: flow(0, 0, 0)})
	with("flow: 1", "flow", 1, nil, Want{Verdict: one("ok"), Flow: flow(1, 1, 0)})
	with("flow: 999", "flow", 999, streaming, Want{Verdict: one("ok"), Flow: flow(1, 999, 0)})
	with("stream: stopped", "stream", 0, func(r *Request) {
		r.Job.Streaming, r.Limits = true, Limits{Timeout: 100, Grace: 10_000}
	}, Want{Verdict: one("deadline")})
	with("stream: one batch", "stream", 0, nil, Want{Verdict: one("ok"), Flow: flow(1, 1, 0)})
	with("batch", "batch", 0, nil, Want{Verdict: one("ok"), Result: new("\x08\x00\x00\x00")})
	with("again", "again", 0, nil, Want{Verdict: one("failed"), Lines: []string{"info 2 elements", "info 2 elements"}, Flow: flow(1, 0, 2)})
	with("again: fetch", "again", 1, nil, Want{Verdict: one("failed"), Flow: flow(0, 0, 0)})
}

// kept adds cases about the state: it changes only if the run succeeds.
func kept(add adder) {
	const rule = "ABI.md: With a grant, state"
	for i, verdict := range []string{"ok", "failed", "failed", "skipped", "retryable"} {
		r := item(request("state", "simple"), i)
		r.Allow = Allow{State: true, Values: map[string]string{"a": "0", "b": "2"}}
		after := map[string]string{"a": "0", "b": "2"}
		if i == 0 {
			after["a"] = "1"
		}
		add("state: "+strconv.Itoa(i), rule, r, Want{Verdict: one(verdict), Values: after})
	}
	r := request("values", "simple")
	r.Allow.State = true
	add("state: values", rule, r, passes())
}

// strategies adds cases of strategies. The job's parameter chooses how to assign the
// items.
func strategies(add adder) {
	const rule = "ABI.md: strategy"
	three := []Instance{{ID: "10.0.0.3@-@1"}, {ID: "10.0.0.2@-@1"}, {ID: "10.0.0.1@-@1"}}
	with := func(name, how string, w Want) {
		r := request("deal", "strategy")
		r.Job.Param, r.Run, r.Limits = how, Run{Total: 5}, Limits{}
		r.Deal = Deal{Instances: three, Previous: []int{0, 0, 0, -1, 2}}
		add("deal: "+name, rule, r, w)
	}
	fails := Want{Verdict: one("failed")}
	with("round", "a", Want{Verdict: one("ok"), Owners: []int{0, 1, 2, 0, 1}})
	with("reversed", "r", Want{Verdict: one("ok"), Owners: []int{2, 1, 0, 2, 1}})
	with("missing", "m", Want{Verdict: one("failed"), Reason: one("4")})
	with("doubled", "d", Want{Verdict: one("failed")})
	with("nobody", "o", fails)
	with("clock", "c", Want{Verdict: one("ok")})
	with("random", "x", Want{Verdict: one("ok")})
	with("loop", "l", fails)
	with("trap", "t", fails)
	with("failure", "f", fails)
}

// rest adds cases of scripts and of listeners, whose calls the log shows as single
// letters.
func rest(add adder) {
	script := func(arg string, code int32, verdict string) {
		r := request("script", "script")
		r.Job.Args = []string{arg}
		add("script: "+arg, "ABI.md: script", r, Want{Verdict: one(verdict), Code: new(code), Check: func(a Answer) error {
			if !strings.HasPrefix(string(a.Result), `{"jobName":"conformance",`) || !strings.HasSuffix(string(a.Result), "}") {
				return fmt.Errorf("the result is %q, wanted the context", a.Result)
			}
			return nil
		}})
	}
	script("0", 0, "ok")
	script("3", 3, "failed")

	const rule = "ABI.md: Listeners"
	listen := func(name string, i int, event string, w Want) {
		r := item(request("before", "simple"), i)
		r.Event = event
		add("listeners: "+name, rule, r, w)
	}
	exactly := func(texts ...string) func(Answer) error {
		return func(a Answer) error {
			var got []string
			for _, l := range a.Logs {
				if len(l.Text) == 1 {
					got = append(got, l.Text)
				}
			}
			if !slices.Equal(got, texts) {
				return fmt.Errorf("called %v, wanted %v", got, texts)
			}
			return nil
		}
	}
	listen("all", 0, "", Want{Verdict: one("ok"), Check: exactly("b", "e", "a")})
	listen("veto", 1, "", Want{Verdict: one("skipped"), Check: exactly("b")})
	listen("trap", 2, "", Want{Verdict: one("failed"), Check: exactly("b", "e")})
	listen("started", 0, "started", Want{Verdict: one("ok"), Check: exactly("s")})
	listen("completed", 0, "completed", Want{Verdict: one("ok"), Check: exactly("c")})
	for code, outcome := range sorted(map[int]int64{0: 0, 1: 1, 2: 2, 3: 3, 4: abi.ResultLate, 127: 1, 142: 142}) {
		afterwards(add, rule, code, outcome)
	}
	fires(add, rule)
}

// files adds cases that open a path below a granted directory. A path, or a link on it,
// that leads out of the directory must be refused.
func files(add adder, dir string) error {
	inside := filepath.Join(dir, "granted")
	if err := os.MkdirAll(filepath.Join(inside, "sub"), 0o750); err != nil {
		return fmt.Errorf("make files for the cases: %w", err)
	}
	for name, content := range map[string]string{filepath.Join(inside, "file"): "x", filepath.Join(dir, "secret"): "y"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return fmt.Errorf("make files for the cases: %w", err)
		}
	}
	for name, target := range map[string]string{"out": "../secret", "root": filepath.Join(dir, "secret"), "up": "..", "within": "file"} {
		if err := os.Symlink(target, filepath.Join(inside, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("make files for the cases: %w", err)
		}
	}
	const opened = "\x00" // the error number 0
	for path, allowed := range sorted(map[string]bool{
		"file": true, "sub": true, "sub/../file": true, "out": false, "root": false, "up": false, "up/secret": false, "../secret": false,
		"sub/../../secret": false, filepath.Join(dir, "secret"): false, "/etc/passwd": false, "": false,
	}) {
		r := request("files", "simple")
		r.Job.Config = map[string]string{"path": path}
		r.Allow.Dirs = []Dir{{Host: inside, Guest: "/in"}}
		name := strings.TrimPrefix(path, dir)
		add(fmt.Sprintf("open %q", name), "ABI.md: WASI", r, Want{Verdict: one("ok"), Check: func(a Answer) error {
			if (string(a.Result) == opened) != allowed {
				return fmt.Errorf("error number %v, may be opened: %t", a.Result, allowed)
			}
			return nil
		}})
	}
	return nil
}
