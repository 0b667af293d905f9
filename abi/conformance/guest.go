package conformance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/abi"
)

// Guest is the output of an SDK: a reactor with every kind of job, and a script.
type Guest struct {
	Name           string
	Module, Script []byte
}

const (
	instant  = 1700000000000 // the scheduled instant of every request
	instance = "10.0.0.1@-@7"
	network  = "https://example.org"
)

// request returns a basic request, which the cases of GUEST.md modify.
func (g Guest) request(kind, param string) Request {
	north := "north"
	return Request{
		Module: g.Module, Kind: kind,
		Job: Job{Name: "conformance", Namespace: "kit", Param: param, Config: map[string]string{
			"key": "value", "blank": "", "large": strings.Repeat("0123456789", 30_000),
		}},
		Run: Run{
			Item: 1, Total: 3, ItemParam: &north, Items: []int{1, 2}, Params: map[int]string{1: "north"},
			TaskID: "conformance@-@1,2@-@READY@-@" + instance, RunID: "conformance/1/1700000000000", Instance: instance,
			Attempt: 2, Fence: 42, Scheduled: instant, Failover: true,
		},
		Limits: Limits{Timeout: 20_000},
	}
}

// one is a list of one text.
func one(v string) []string { return []string{v} }

// flow counts batches and the elements that succeeded and failed.
func flow(b, s, f int64) *Flow { return &Flow{b, s, f} }

// GuestCases returns the cases that check an SDK by the guest that it has built.
func GuestCases(g Guest) []Case {
	var cases []Case
	add := func(name, rule string, r Request, w Want) {
		cases = append(cases, Case{name, rule, r, w})
	}
	add("loads", "Kinds", g.request("", ""), Want{})
	g.runs(add)
	g.fields(add)
	g.granted(add)
	g.network(add)
	g.flows(add)
	g.assignments(add)
	g.listeners(add)
	g.scripts(add)
	return cases
}

// adder adds a case: its name, the rule that it checks, the request, and what the answer
// must have.
type adder func(name, rule string, r Request, w Want)

// runs adds cases of a simple job. The job's parameter names the case.
func (g Guest) runs(add adder) {
	const rule = "GUEST.md: execute"
	say := func(name string, w Want) { add(name, rule, g.request("simple", name), w) }
	say("ok", Want{Verdict: one("ok"), Code: new(int32(abi.ResultOK))})
	say("fail", Want{Verdict: one("failed"), Code: new(int32(abi.ResultFailed)), Reason: one("it failed")})
	say("retry", Want{Verdict: one("retryable"), Code: new(int32(abi.ResultRetryable)), Reason: one("again later")})
	say("skip", Want{Verdict: one("skipped"), Code: new(int32(abi.ResultSkipped))})
	say("code", Want{Verdict: one("failed"), Code: new(int32(142)), Reason: one("own code")})
	say("panic", Want{Verdict: one("failed"), Reason: one("it broke"), Check: brokeFirst})
	say("config:key", Want{Verdict: one("ok"), Result: new("value")})
	say("config:blank", Want{Verdict: one("ok"), Result: new("")})
	say("config:none", Want{Verdict: one("ok"), Result: new("-")})
	say("config:large", Want{Verdict: one("ok"), Result: new(strings.Repeat("0123456789", 30_000))})
	say("utf8:žluťoučký 馬 🐎", Want{Verdict: one("ok"), Result: new("žluťoučký 馬 🐎")})
	say("empty", Want{Verdict: one("ok"), Result: new("")})
	say("large:1000000", Want{Verdict: one("ok"), Result: new(strings.Repeat("x", 1_000_000))})
	say("large:2000000", Want{Verdict: one("ok"), Result: new("limit")})
	say("log", Want{Verdict: one("ok"), Lines: []string{
		"trace trace line", "debug debug line", "info info line", "warn warn line", "error error line", "info end",
	}})
	say("progress", Want{Verdict: one("ok")})
	say("metric", Want{Verdict: one("ok"), Metrics: map[string]float64{"rows": 5}})
	say("badmetric", Want{Verdict: one("ok"), Result: new("invalid")})
	say("nap:5", Want{Verdict: one("ok"), Result: new("slept")})
	say("nap:-5", Want{Verdict: one("ok"), Result: new("slept")})

	woken := g.request("simple", "nap:600000")
	woken.Limits = Limits{Timeout: 100, Grace: 10_000}
	add("nap: woken", rule, woken, Want{Verdict: one("deadline"), Result: new("stopped")})
	stop := g.request("simple", "stop")
	stop.Limits = Limits{Timeout: 100, Grace: 10_000}
	add("stop", rule, stop, Want{Verdict: one("deadline"), Result: new("1")})
}

// brokeFirst requires the text of a panic in the first line of the reason, before any
// stack, because people see that line first.
func brokeFirst(a Answer) error {
	if first, _, _ := strings.Cut(a.Reason, "\n"); !strings.Contains(first, "it broke") {
		return fmt.Errorf("the reason begins with %q, wanted the text of the panic", first)
	}
	return nil
}

// fields adds cases about the facts of a run, which the guest lists.
func (g Guest) fields(add adder) {
	const rule = "REFERENCE.md: Fields"
	sum := sha256.Sum256(g.Module)
	lines := func(changes ...string) func(Answer) error {
		want := map[string]string{
			"jobName": "conformance", "taskId": "conformance@-@1,2@-@READY@-@" + instance, "jobParam": "fields", "itemParam": "north",
			"instance": instance, "namespace": "kit", "digest": hex.EncodeToString(sum[:]), "runId": "conformance/1/1700000000000",
			"total": "3", "item": "1", "fired": "1700000000000", "deadline": "1700000020000", "attempt": "2", "failover": "1",
			"misfire": "0", "hostMinor": fmt.Sprint(abi.HostMinor), "streaming": "0", "fence": "42", "scheduled": "1700000000000", "fetchCount": "0",
		}
		for k := 0; k < len(changes); k += 2 {
			want[changes[k]] = changes[k+1]
		}
		return func(a Answer) error { return sameFields(string(a.Result), want) }
	}
	add("fields", rule, g.request("simple", "fields"), Want{Verdict: one("ok"), Check: lines()})
	bare := g.request("simple", "fields")
	bare.Run.ItemParam, bare.Run.Params, bare.Limits.Timeout = nil, nil, 0
	bare.Run.Failover, bare.Run.Misfire, bare.Run.Fence = false, true, 1<<53+1
	add("fields: none", rule, bare, Want{Verdict: one("ok"), Check: lines(
		"itemParam", "-", "deadline", "0", "failover", "0", "misfire", "1", "fence", fmt.Sprint(1<<53+1))})
	blank := g.request("simple", "fields")
	blank.Run.ItemParam = new("")
	add("fields: blank", rule, blank, Want{Verdict: one("ok"), Check: lines("itemParam", "")})

	add("json", "ABI.md: The context as JSON", g.request("simple", "json"), Want{Verdict: one("ok"), Result: new(
		`{"jobName":"conformance","taskId":"conformance@-@1,2@-@READY@-@10.0.0.1@-@7","shardingTotalCount":3,"jobParameter":"json",` +
			`"shardingItem":1,"shardingParameter":"north","wasmjob":{"runId":"conformance/1/1700000000000","attempt":2,` +
			`"scheduledTime":1700000000000,"fence":42,"items":{"1":"north","2":null}}}`)})
}

// sameFields compares lines of name=value; the seed may be any hex digits.
func sameFields(result string, want map[string]string) error {
	seen := map[string]bool{}
	for line := range strings.Lines(result) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		seen[name] = true
		if name == "seed" {
			if _, err := hex.DecodeString(value); err != nil || value == "" {
				return fmt.Errorf("the seed is %q", value)
			}
			continue
		}
		if w, ok := want[name]; !ok || w != value {
			return fmt.Errorf("field %s is %q, wanted %q", name, value, w)
		}
	}
	if len(seen) != len(want)+1 {
		return fmt.Errorf("%d fields, wanted %d: %q", len(seen), len(want)+1, result)
	}
	return nil
}

// granted adds cases of functions that need a grant, each with and without it.
func (g Guest) granted(add adder) {
	const rule = "ABI.md: With a grant"
	with := func(name, param string, allow Allow, w Want) {
		r := g.request("simple", param)
		r.Allow = allow
		add(name, rule, r, w)
	}
	with("clock", "clock", Allow{Clock: new(int64(1_711_111_111_111))}, Want{Verdict: one("ok"), Result: new("1711111111111")})
	with("clock: denied", "clock", Allow{}, Want{Verdict: one("ok"), Result: new("denied")})
	with("random", "random", Allow{Random: true}, Want{Verdict: one("ok"), Check: func(a Answer) error {
		if b, err := hex.DecodeString(string(a.Result)); err != nil || len(b) != 16 {
			return fmt.Errorf("the result is %q, wanted 16 bytes in hex", a.Result)
		}
		return nil
	}})
	with("random: denied", "random", Allow{}, Want{Verdict: one("ok"), Result: new("denied")})
	with("count: first", "count", Allow{State: true}, Want{Verdict: one("ok"), Result: new("1"), Values: map[string]string{"n": "1"}})
	with("count: next", "count", Allow{State: true, Values: map[string]string{"n": "41", "other": "x"}},
		Want{Verdict: one("ok"), Result: new("42"), Values: map[string]string{"n": "42", "other": "x"}})
	with("count: denied", "count", Allow{}, Want{Verdict: one("ok"), Result: new("denied")})
	with("countfail", "countfail", Allow{State: true, Values: map[string]string{"n": "41"}},
		Want{Verdict: one("failed"), Reason: one("not kept"), Values: map[string]string{"n": "41"}})
	with("forget", "forget", Allow{State: true, Values: map[string]string{"n": "41", "m": "1"}},
		Want{Verdict: one("ok"), Result: new("gone"), Values: map[string]string{"m": "1"}})
	with("forget: none", "forget", Allow{State: true}, Want{Verdict: one("ok"), Result: new("none")})
	with("secret", "secret:token", Allow{Secrets: map[string]string{"token": "s3cret"}}, Want{Verdict: one("ok"), Result: new("s3cret")})
	with("secret: denied", "secret:other", Allow{Secrets: map[string]string{"token": "s3cret"}}, Want{Verdict: one("ok"), Result: new("denied")})
}

// network adds cases of HTTP requests and what may go wrong with them.
func (g Guest) network(add adder) {
	const rule = "ABI.md: With a grant, http"
	with := func(name, param string, w Want, all ...Exchange) {
		r := g.request("simple", param)
		r.Allow.HTTP = all
		add(name, rule, r, w)
	}
	ok := func(result string) Want { return Want{Verdict: one("ok"), Result: new(result)} }
	large := strings.Repeat("0123456789", 30_000)
	with("get", "get:"+network+"/a", ok("200 hello"), Exchange{Method: "GET", URL: network + "/a", Status: 200, Content: "hello"})
	with("get: large", "get:"+network+"/a", ok("200 "+large), Exchange{Method: "GET", URL: network + "/a", Status: 200, Content: large})
	with("get: 404", "get:"+network+"/b", ok("404 "), Exchange{Method: "GET", URL: network + "/b", Status: 404})
	with("get: denied", "get:"+network+"/c", ok("denied"), Exchange{Method: "GET", URL: network + "/a", Status: 200})
	with("get: not granted", "get:"+network+"/a", ok("denied"))
	with("get: broken", "get:"+network+"/a", ok("io"), Exchange{Method: "GET", URL: network + "/a", Fails: true})
	with("get: no URL", "get:no such", ok("invalid"), Exchange{Method: "GET", URL: network + "/a", Status: 200})
	with("post", "post:"+network+"/e", ok("201 yes pong"), Exchange{
		Method: "POST", URL: network + "/e", Headers: map[string]string{"X-Test": "yes"}, Body: "ping",
		Status: 201, Answer: map[string]string{"X-Echo": "yes"}, Content: "pong",
	})
	with("post: no header", "post:"+network+"/e", ok("200 - "), Exchange{
		Method: "POST", URL: network + "/e", Headers: map[string]string{"X-Test": "yes"}, Body: "ping", Status: 200,
	})
}

// flows adds cases of a dataflow job.
func (g Guest) flows(add adder) {
	const rule = "GUEST.md: fetch and process"
	with := func(name, param string, change func(*Request), w Want) {
		r := g.request("dataflow", param)
		if change != nil {
			change(&r)
		}
		add(name, rule, r, w)
	}
	streaming := func(r *Request) { r.Job.Streaming = true }
	with("flow: one batch", "flow:3", nil, Want{Verdict: one("ok"), Result: new("e0,e1,e2"), Metrics: map[string]float64{"seen": 3}, Flow: flow(1, 3, 0)})
	with("flow: nothing", "flow:0", nil, Want{Verdict: one("skipped"), Flow: flow(0, 0, 0)})
	with("flow: streaming", "flow:3", streaming, Want{Verdict: one("ok"), Result: new("e0"), Metrics: map[string]float64{"seen": 6}, Flow: flow(3, 6, 0)})
	with("flow: 1000", "flow:1000", nil, Want{Verdict: one("ok"), Flow: flow(1, 1000, 0)})
	with("flow: in parts", "flow:100", func(r *Request) { r.Job.Concurrency = 4 },
		Want{Verdict: one("ok"), Metrics: map[string]float64{"seen": 100}, Flow: flow(1, 100, 0)})
	with("flowfail", "flowfail", streaming, Want{Verdict: one("failed"), Reason: one("bad batch"), Flow: flow(1, 0, 1)})
	with("flowpanic", "flowpanic", nil, Want{Verdict: one("failed"), Reason: one("it broke"),
		Lines: []string{"info processing"}, Flow: flow(1, 0, 1), Check: brokeFirst})
	with("flowack", "flowack", nil, Want{Verdict: one("ok"), Flow: flow(1, 1, 2)})
	with("offset", "offset", func(r *Request) {
		r.Job.Streaming, r.Allow.State = true, true
	}, Want{Verdict: one("ok"), Result: new("7"), Values: map[string]string{"offset": "7"}, Flow: flow(3, 7, 0)})
	with("offset: resumed", "offset", func(r *Request) {
		r.Allow.State, r.Allow.Values = true, map[string]string{"offset": "5"}
	}, Want{Verdict: one("ok"), Result: new("7"), Values: map[string]string{"offset": "7"}, Flow: flow(1, 2, 0)})
}

// assignments adds cases of a strategy.
func (g Guest) assignments(add adder) {
	const rule = "GUEST.md: shard"
	three := []Instance{{ID: "10.0.0.3@-@1", Labels: map[string]string{"weight": "2"}}, {ID: "10.0.0.2@-@1", Labels: map[string]string{"weight": "10"}}, {ID: "10.0.0.1@-@1"}}
	with := func(name, param string, total int, all []Instance, prev []int, w Want) {
		r := g.request("strategy", param)
		r.Run, r.Limits = Run{Total: total}, Limits{}
		r.Deal = Deal{all, prev}
		add(name, rule, r, w)
	}
	with("modulo", "modulo", 7, three, nil, Want{Verdict: one("ok"), Owners: []int{0, 1, 2, 0, 1, 2, 0}})
	with("modulo: one", "modulo", 2, three[:1], nil, Want{Verdict: one("ok"), Owners: []int{0, 0}})
	with("modulo: 1000", "modulo", 1000, three, nil, Want{Verdict: one("ok")})
	with("heaviest", "heaviest", 2, three, nil, Want{Verdict: one("ok"), Owners: []int{1, 1}})
	with("heaviest: equal", "heaviest", 2, []Instance{{ID: "b"}, {ID: "a"}}, nil, Want{Verdict: one("ok"), Owners: []int{0, 0}})
	with("sticky", "sticky", 4, three, []int{2, -1, 1, 0}, Want{Verdict: one("ok"), Owners: []int{2, 0, 1, 0}})
	with("partial", "partial", 3, three, nil, Want{Verdict: one("failed"), Reason: one("2")})
	with("twice", "twice", 3, three, nil, Want{Verdict: one("failed"), Reason: one("conflict")})
	with("shard: panic", "panic", 3, three, nil, Want{Verdict: one("failed"), Reason: one("it broke"), Check: brokeFirst})
}

// listeners adds cases of listeners, which log that they were called and what they read.
func (g Guest) listeners(add adder) {
	const rule = "GUEST.md: Listeners"
	add("listen", rule, g.request("simple", "listen"), Want{Verdict: one("ok"), Lines: []string{"info before", "info after"}})
	for name, w := range sorted(map[string]Want{
		"ok":    {Verdict: one("ok"), Lines: []string{"info ended 0"}},
		"retry": {Verdict: one("retryable"), Reason: one("again later"), Lines: []string{"info ended 2 again later"}},
		"code":  {Verdict: one("failed"), Reason: one("own code"), Lines: []string{"info ended 142 own code"}},
	}) {
		add("ended: "+name, rule, g.request("simple", name), w)
	}
	add("veto", rule, g.request("simple", "veto"), Want{Verdict: one("skipped"), Lines: []string{"info before"}})
	for _, event := range []string{"started", "completed"} {
		r := g.request("simple", "listen")
		r.Event = event
		add(event, rule, r, Want{Verdict: one("ok"), Lines: []string{"info " + event}})
	}
	r := g.request("simple", "listen")
	r.Event = "completed"
	add("fire: unknown", rule, r, Want{Verdict: one("ok"), Lines: []string{"info completed", "info fire unknown"}})
	r.Fire = &Fire{Succeeded: 5, Failed: 1, Skipped: 2}
	add("fire", rule, r, Want{Verdict: one("ok"), Lines: []string{"info completed", "info fire 5 1 2"}})
}

// scripts adds cases of the script. Its first argument names the case.
func (g Guest) scripts(add adder) {
	const rule = "GUEST.md: The script"
	with := func(arg string, w Want) {
		r := g.request("script", "p")
		r.Module, r.Job.Args = g.Script, []string{arg, "two words"}
		add("script "+arg, rule, r, w)
	}
	with("context", Want{Verdict: one("ok"), Check: func(a Answer) error {
		if !strings.HasPrefix(string(a.Result), `{"jobName":"conformance","taskId":"`) {
			return fmt.Errorf("the result is %q, wanted the context", a.Result)
		}
		return nil
	}})
	with("env", Want{Verdict: one("ok"), Check: func(a Answer) error {
		if strings.TrimSpace(string(a.Result)) != "conformance 1" {
			return fmt.Errorf("the result is %q", a.Result)
		}
		return nil
	}})
	with("fail", Want{Verdict: one("failed"), Code: new(int32(3)), Reason: one("bad luck")})
}
