package main

import (
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

// The kit checks the built guest on a host; this test checks its logic against GUEST.md
// before it is built.
func TestExecute(t *testing.T) {
	t.Parallel()
	for param, want := range map[string]struct {
		code        int32
		result, err string
	}{
		"ok": {}, "fail": {1, "", "it failed"}, "retry": {2, "", "again later"}, "skip": {3, "", "nothing to do"}, "code": {142, "", "own code"},
		"panic": {1, "", "panic: it broke"}, "config:key": {0, "value", ""}, "config:none": {0, "-", ""}, "utf8:馬": {0, "馬", ""},
		"json": {0, "{}", ""}, "empty": {}, "large:3": {0, "xxx", ""}, "large:200": {0, "limit", ""}, "stop": {0, "2", ""},
		"nap:5": {0, "stopped", ""}, "badmetric": {0, "invalid", ""}, "clock": {0, "7", ""}, "random": {0, "denied", ""},
		"count": {0, "1", ""}, "countfail": {1, "1", "not kept"}, "forget": {0, "none", ""}, "secret:a": {0, "s", ""}, "secret:b": {0, "denied", ""},
		"get:https://a/": {0, "404 no", ""}, "get:no such": {0, "invalid", ""}, "post:https://a/": {0, "200 yes ping", ""},
		"what": {1, "", "there is no case what"},
	} {
		stopped := strings.HasPrefix(param, "stop") || strings.HasPrefix(param, "nap")
		f := &wasmjob.Fake{
			JobParam: param, JSON: "{}", Config: map[string]string{"key": "value"}, MaxResult: 100, Clock: time.UnixMilli(7),
			State: map[string]string{}, Secrets: map[string]string{"a": "s"},
			Stop: func() wasmjob.Reason {
				if stopped {
					return wasmjob.StopShutdown
				}
				return wasmjob.Continue
			},
			HTTP: func(r wasmjob.Request) (wasmjob.FakeAnswer, error) {
				if r.Method == "GET" {
					return wasmjob.FakeAnswer{Status: 404, Body: "no"}, nil
				}
				body, err := io.ReadAll(r.Body)
				return wasmjob.FakeAnswer{Header: map[string]string{"X-Echo": r.Header["X-Test"]}, Body: string(body)}, err
			},
		}
		if code := f.Run(execute); code != want.code || string(f.Result) != want.result || f.Err != want.err {
			t.Errorf("%s: code %d, result %q, %q", param, code, f.Result, f.Err)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	f := &wasmjob.Fake{JobName: "j", JobParam: "fields", Item: 1, Total: 3, Deadline: time.UnixMilli(9), Misfire: true}
	f.Run(execute)
	want := "jobName=j\ntaskId=\njobParam=fields\nitemParam=-\ninstance=\nnamespace=\ndigest=\nseed=\nrunId=\ntotal=3\nitem=1\nfired=0\ndeadline=9\n" +
		"attempt=0\nfailover=0\nmisfire=1\nhostMinor=0\nstreaming=0\nfence=0\nscheduled=0\nfetchCount=0\n"
	if string(f.Result) != want {
		t.Errorf("%s", f.Result)
	}
}

func TestAfterIsToldHowTheRunEnded(t *testing.T) {
	t.Parallel()
	done, late, own := wasmjob.EndedDone, wasmjob.EndedLate, wasmjob.Ended(142)
	for _, tt := range []struct {
		ended        *wasmjob.Ended
		reason, line string
	}{
		{nil, "not told", "ended unknown"}, {&done, "", "ended 0"}, {&late, "slow", "ended 4 slow"},
		{&own, "own code", "ended 142 own code"},
	} {
		f := &wasmjob.Fake{Ended: tt.ended, EndedReason: tt.reason}
		if code := f.Run(ended); code != 0 || f.Logs[len(f.Logs)-1] != tt.line {
			t.Errorf("code %d, lines %q, wanted %q", code, f.Logs, tt.line)
		}
	}
}

func TestCompletedIsToldHowTheItemsEnded(t *testing.T) {
	t.Parallel()
	for line, told := range map[string]*wasmjob.Fire{"fire unknown": nil, "fire 5 1 2": {Succeeded: 5, Failed: 1, Skipped: 2}} {
		f := &wasmjob.Fake{Fire: told}
		if code := f.Run(fire); code != 0 || f.Logs[len(f.Logs)-1] != line {
			t.Errorf("code %d, lines %q, wanted %q", code, f.Logs, line)
		}
	}
}

func TestFlow(t *testing.T) {
	t.Parallel()
	for param, want := range map[string]struct {
		code    int32
		result  string
		handled [3]int
	}{
		"flow:3": {0, "e0,e1,e2", [3]int{3, 0, 0}}, "flowfail": {1, "", [3]int{0, 1, 0}}, "flowpanic": {1, "", [3]int{0, 1, 0}},
		"flowack": {0, "", [3]int{1, 2, 0}}, "offset": {0, "3", [3]int{3, 0, 0}}, "what": {1, "", [3]int{}},
	} {
		taken = 0
		f := &wasmjob.Fake{JobParam: param, State: map[string]string{}}
		if code := f.Dataflow(fetch, process); code != want.code || string(f.Result) != want.result || f.Handled != want.handled {
			t.Errorf("%s: code %d, result %q, handled %v, %s", param, code, f.Result, f.Handled, f.Err)
		}
	}
}

func TestShard(t *testing.T) {
	t.Parallel()
	for param, want := range map[string]struct {
		code     int32
		assigned map[int]int
	}{
		"modulo": {0, map[int]int{0: 0, 1: 1, 2: 0}}, "heaviest": {0, map[int]int{0: 1, 1: 1, 2: 1}}, "sticky": {0, map[int]int{0: 0, 1: 1, 2: 0}},
		"partial": {0, map[int]int{0: 0, 1: 0}}, "twice": {1, map[int]int{0: 0}}, "panic": {1, nil}, "what": {1, nil},
	} {
		f := &wasmjob.Fake{
			JobParam: param, Total: 3, Owners: []int{-1, 1},
			Instances: []wasmjob.FakeInstance{{ID: "b"}, {ID: "a", Labels: map[string]string{"weight": "10"}}},
		}
		if code := f.Shard(shard); code != want.code || !maps.Equal(f.Assigned, want.assigned) {
			t.Errorf("%s: code %d, dealt %v, %s", param, code, f.Assigned, f.Err)
		}
	}
}
