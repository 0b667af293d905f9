package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

func TestState(t *testing.T) {
	t.Parallel()
	s := &fakeState{values: map[string][]byte{"old": []byte("o"), "gone": []byte("g")}}
	var a asking
	room := a.room(8)
	a.ask(abi.FuncStateGet, "old", room, 8).
		ask(abi.FuncStateSet, "old", "newer").
		ask(abi.FuncStateGet, "old", room, 4). // too small: only its length
		ask(abi.FuncStateGet, "old", room, 5).
		ask(abi.FuncStateSet, "empty", "").
		ask(abi.FuncStateGet, "empty", room, 0).
		ask(abi.FuncStateDelete, "gone").
		ask(abi.FuncStateDelete, "gone").
		ask(abi.FuncStateGet, "gone", room, 8).
		ask(abi.FuncStateGet, "never", room, 8).
		ask(abi.FuncStateDelete, strings.Repeat("x", 300))
	mem, out := a.wants(t, granted(func(c *job.Call) { c.State = s }),
		1, 0, 5, 5, 0, 0, 0, abi.ErrNotFound, abi.ErrNotFound, abi.ErrNotFound, abi.ErrNotFound)
	expect(t, out, job.OK, "")
	if got := string(mem[room : room+5]); got != "newer" {
		t.Errorf("read %q", got)
	}
	if s.String() != "empty= old=newer" || s.loads != 1 || s.saves != 1 {
		t.Errorf("kept %s after %d loads and %d saves", s, s.loads, s.saves)
	}
}

func TestStateRefuses(t *testing.T) {
	t.Parallel()
	s := &fakeState{}
	var a asking
	long := strings.Repeat("k", maxStateKey)
	a.ask(abi.FuncStateSet, "", "v").
		ask(abi.FuncStateSet, long+"k", "v").
		ask(abi.FuncStateSet, "\xff", "v").
		ask(abi.FuncStateSet, long, "12345").
		ask(abi.FuncStateSet, long, "123456").
		ask(abi.FuncStateSet, "\x00", "v")
	_, out := a.wants(t, granted(func(c *job.Call) { c.State, c.Config.Limits.StateValue = s, 5 }),
		abi.ErrInvalid, abi.ErrInvalid, abi.ErrInvalid, 0, abi.ErrLimit, 0)
	expect(t, out, job.OK, "")
	if s.String() != "\x00=v "+long+"=12345" {
		t.Errorf("kept %s", s)
	}
	var none asking
	none.ask(abi.FuncStateSet, "k", "v").ask(abi.FuncStateGet, "k", 0, 0).ask(abi.FuncStateDelete, "k")
	none.wants(t, granted(func(c *job.Call) { c.Config.Allow.State = false }), abi.ErrDenied, abi.ErrDenied, abi.ErrDenied)
}

func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	v := newValues(nil)
	for i := range maxStateValues {
		if !v.put(fmt.Sprint(i), nil) {
			t.Fatalf("value %d is refused", i)
		}
	}
	if v.put("more", nil) || !v.put("0", []byte("x")) || !v.remove([]byte("1")) || !v.put("more", nil) {
		t.Error("the number of values")
	}
	v = newValues(map[string][]byte{"a": make([]byte, maxState-2)})
	if v.put("b", []byte("x")) || !v.put("b", nil) || v.put("b", []byte("y")) || !v.put("a", make([]byte, 10)) || !v.put("b", []byte("y")) {
		t.Error("the size of values")
	}
	if v.size != len("a")+10+len("b")+len("y") {
		t.Errorf("size %d", v.size)
	}
	// State stored under larger limits may shrink and change, but not grow.
	many := map[string][]byte{}
	for i := range maxStateValues + 5 {
		many[fmt.Sprint(i)] = []byte("12")
	}
	v = newValues(many)
	if !v.put("0", []byte("34")) || !v.put("0", []byte("5")) || v.put("0", []byte("567")) || v.put("new", nil) {
		t.Error("more than the limits")
	}
}

// Values set by a run that did not succeed are discarded.
func TestStateIsKeptWithSuccessAlone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		end     []byte
		verdict job.Verdict
		kept    bool
	}{
		{"done", i32(0), job.OK, true},
		{"failed", i32(1), job.Failure, false},
		{"retry", i32(2), job.Retryable, false},
		{"nothing to do", i32(3), job.Nothing, false},
		{"trap", op(opUnreachable), job.Failure, false},
	} {
		s := &fakeState{values: map[string][]byte{"k": []byte("old")}}
		var a asking
		a.end = tt.end
		a.ask(abi.FuncStateSet, "k", "new")
		_, _, out := a.run(t, granted(func(c *job.Call) { c.State = s }))
		expect(t, out, tt.verdict, "")
		if kept := s.String() == "k=new"; kept != tt.kept {
			t.Errorf("%s: %s", tt.name, s)
		}
	}
	// It sets a value, exceeds its deadline, and returns success.
	s := &fakeState{}
	var a asking
	a.ask(abi.FuncStateSet, "k", "new").ask(abi.FuncSleep, 10_000)
	_, out := a.wants(t, granted(func(c *job.Call) {
		c.State, c.Config.Timeout, c.Config.Limits.Grace = s, time.Millisecond, time.Hour
	}), 0, abi.ErrCancelled)
	expect(t, out, job.Deadline, "")
	if s.saves != 0 {
		t.Errorf("kept %s", s)
	}
}

func TestStateThatFails(t *testing.T) {
	t.Parallel()
	var a asking
	a.ask(abi.FuncStateSet, "k", "v")
	_, _, out := a.run(t, granted(func(c *job.Call) { c.State = &fakeState{noSav: errors.New("the item has moved")} }))
	expect(t, out, job.Failure, "the item has moved")

	var buf bytes.Buffer
	s := &fakeState{noLoad: errors.New("no registry")}
	var b asking
	b.ask(abi.FuncStateGet, "k", 0, 0).ask(abi.FuncStateSet, "k", "v").ask(abi.FuncStateDelete, "k")
	_, out = b.wants(t, granted(func(c *job.Call) { c.State, c.Log = s, textLog(&buf) }), abi.ErrIO, abi.ErrIO, abi.ErrIO)
	expect(t, out, job.OK, "")
	if n := strings.Count(buf.String(), "no registry"); n != 1 || s.loads != 1 || s.saves != 0 {
		t.Errorf("%d reports, %d loads, %d saves", n, s.loads, s.saves)
	}
	// Without a store the run has a temporary state.
	var c asking
	c.ask(abi.FuncStateSet, "k", "v").ask(abi.FuncStateGet, "k", 0, 0)
	_, out = c.wants(t, granted(func(c *job.Call) { c.State = nil }), 0, 1)
	expect(t, out, job.OK, "")
}

// Forks see values that were set before them, but not each other's. The fork that is
// joined later wins; a fork that is not joined is discarded.
func TestStateOfForks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := &fakeState{values: map[string][]byte{"a": []byte("0"), "b": []byte("0")}}
	o := newHostState(&job.Call{State: s})
	see := func(o *hostState, key string) string {
		v, err := o.values(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return string(v.all[key])
	}
	put := func(o *hostState, key, value string) {
		v, err := o.values(ctx)
		if err != nil || !v.put(key, []byte(value)) {
			t.Fatal("put", key, err)
		}
	}
	one, two, lost := o.fork(), o.fork(), o.fork()
	put(one, "a", "1")
	put(two, "a", "2")
	put(two, "c", "2")
	if v, _ := two.values(ctx); !v.remove([]byte("b")) {
		t.Error("b is gone")
	}
	put(lost, "d", "x")
	if see(one, "c") != "" || see(one, "b") != "0" || s.loads != 1 {
		t.Errorf("forks see each other, or %d loads", s.loads)
	}
	o.join(one, true)
	o.join(lost, false)
	o.join(two, true)
	if see(o, "a") != "2" || see(o, "b") != "" || see(o, "d") != "" {
		t.Errorf("joined: %v", o.itemState.all)
	}
	if see(o.fork(), "c") != "2" {
		t.Error("a later fork does not see what was joined")
	}
	if err := o.commit(ctx); err != nil || s.String() != "a=2 c=2" {
		t.Errorf("%s, %v", s, err)
	}
	if err := o.commit(ctx); err != nil || s.saves != 1 {
		t.Errorf("%d saves, %v", s.saves, err)
	}
	// Each subtask may be within the limits, although all together are not.
	one, two = o.fork(), o.fork()
	for i := range maxStateValues - 2 {
		put(one, fmt.Sprint("x", i), "")
		put(two, fmt.Sprint("y", i), "")
	}
	o.join(one, true)
	o.join(two, true)
	if err := o.commit(context.Background()); !errors.Is(err, errStateFull) || s.saves != 1 {
		t.Errorf("%d saves, %v", s.saves, err)
	}
}
