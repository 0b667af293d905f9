package sandbox

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
)

// branching is a function that calls itself, or what call says, twice until
// its parameter is 0: with 60 that takes longer than anybody waits.
func branching(call ...byte) [][]byte {
	again := slices.Concat(getLocal(0), i32(-1), op(opI32Add), call)
	return [][]byte{getLocal(0), op(0x04, 0x7f), again, again, op(opI32Add, 0x05), i32(0), op(opEnd)}
}

func TestCallsWithoutALoopEndAtTheDeadline(t *testing.T) {
	t.Parallel()
	direct := &builder{}
	f := direct.fn(valI32, valI32, 0, branching(call(0)...)...)

	indirect := &builder{table: []byte{1, 0x70, 0, 1}, element: []byte{1, 0, 0x41, 0, opEnd, 1, 0}}
	byTable := slices.Concat(i32(0), op(0x11, byte(indirect.typ(valI32, valI32)), 0))
	indirect.fn(valI32, valI32, 0, branching(byTable...)...)

	chain := &builder{} // no function calls itself
	last := chain.fn("", "", 0)
	for range 60 {
		last = chain.fn("", "", 0, call(last), call(last))
	}
	c := job.Call{Config: job.Config{Timeout: time.Millisecond, Limits: job.Limits{Grace: time.Millisecond}}}
	for name, wasm := range map[string][]byte{
		"direct":   direct.job(i32(60), call(f)),
		"indirect": indirect.job(i32(60), byTable),
		"chain":    chain.job(call(last), i32(0)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, runOnce(t, wasm, c), job.Deadline, "deadline of 1ms passed")
		})
	}
}

// Sizes are numbers of one byte up to 127, and of two up to 16,383: what guard
// adds must fit on either side.
func TestGuardedModulesAreSound(t *testing.T) {
	t.Parallel()
	for _, nops := range []int{0, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 16300, 16369, 16370, 16371, 16372, 16373, 16374, 16375} {
		b := &builder{}
		f := b.fn("", "", 0, bytes.Repeat(op(0x01), nops))
		g := b.fn("", "", 0, bytes.Repeat(op(0x01), nops), call(f))
		b.tailSections = section(0, append(text("name"), 1, 5, 0xff, 0xff, 0xff, 0xff, 0x0f)) // is cut out
		wasm := b.job(call(g), i32(3))
		a, err := decode(wasm, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		whole := a.prepared(wasm)
		again, err := decode(whole, 1<<20)
		if err != nil || bytes.Count(whole, emptyLoop()) != 2 || len(again.cuts) != 0 || again.own != a.own {
			t.Errorf("%d instructions: %v, % x", nops, err, whole[:min(len(whole), 300)])
		}
		expect(t, runOnce(t, wasm, job.Call{}), job.Nothing, "")
	}
}
