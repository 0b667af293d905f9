package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// added is a function that a test adds to ok.wasm.
type added struct {
	typ  byte   // 0: no parameters and results; 2 and more: the types that are added with it
	code []byte // without the local variables before it and the end after it
}

// grown returns ok.wasm with more types and functions, which are never called. serial makes
// modules differ.
func grown(ok []byte, serial int, types [][]byte, functions ...added) []byte {
	section := func(id byte, body []byte) []byte {
		return append(binary.AppendUvarint([]byte{id}, uint64(len(body))), body...)
	}
	count := func(n int) []byte { return binary.AppendUvarint(nil, uint64(2+n)) } // ok.wasm has two of each
	indices, bodies := []byte{0, 1}, slices.Clone(ok[0x4e:])
	for _, f := range functions {
		indices = append(indices, f.typ)
		body := slices.Concat([]byte{0}, f.code, []byte{0x0b})
		bodies = append(binary.AppendUvarint(bodies, uint64(len(body))), body...)
	}
	return slices.Concat(ok[:8],
		section(1, slices.Concat(count(len(types)), ok[0x0b:0x12], slices.Concat(types...))),
		section(3, append(count(len(functions)), indices...)), ok[0x17:0x4b],
		section(10, append(count(len(functions)), bodies...)),
		section(0, fmt.Appendf([]byte{6}, "serial%d", serial)))
}

// compileBombs are modules of a few kilobytes or megabytes that take a compiler far more memory
// or time, by name.
var compileBombs = map[string]func(ok []byte, serial int) []byte{
	// Calls that pass a hundred values each become 1,400 times as much machine code.
	"calls":      func(ok []byte, serial int) []byte { return passing(ok, serial, 1) },
	"more-calls": func(ok []byte, serial int) []byte { return passing(ok, serial, 75) },
	// Each i8x16.popcnt takes 3.3 KB of memory to be compiled.
	"vectors": func(ok []byte, serial int) []byte {
		code := slices.Concat([]byte{0xfd, 0x0c}, make([]byte, 16), bytes.Repeat([]byte{0xfd, 0x62}, 1_300_000), []byte{0x1a})
		return grown(ok, serial, nil, added{0, code})
	},
	"jumps": func(ok []byte, _ int) []byte { return jumpTables(ok) },
}

// passing returns a module with functions that make 9,990 calls of a function with a hundred
// parameters and results.
func passing(ok []byte, serial, functions int) []byte {
	hundred := append([]byte{100}, bytes.Repeat([]byte{0x7f}, 100)...)
	var passes, calls []byte
	for i := range byte(100) {
		passes = append(passes, 0x20, i)
		calls = append(calls, 0x41, 0)
	}
	calls = slices.Concat(calls, bytes.Repeat([]byte{0x10, 2}, 9_990), bytes.Repeat([]byte{0x1a}, 100))
	return grown(ok, serial, [][]byte{slices.Concat([]byte{0x60}, hundred, hundred)},
		append([]added{{2, passes}}, slices.Repeat([]added{{0, calls}}, functions)...)...)
}

// jumpTables returns a module with a hundred functions that jump to one of as many places as
// allowed.
func jumpTables(ok []byte) []byte {
	targets := 49_000
	code := slices.Concat([]byte{0x02, 0x40, 0x41, 0, 0x0e}, binary.AppendUvarint(nil, uint64(targets)), make([]byte, targets+1), []byte{0x0b})
	return grown(ok, 0, nil, slices.Repeat([]added{{0, code}}, 100)...)
}

// slowToCompile returns a module that takes some seconds to compile.
func slowToCompile(ok []byte) []byte {
	code := slices.Concat([]byte{0x3f, 0}, bytes.Repeat([]byte{0x3f, 0, 0x6a}, 20_000), []byte{0x1a})
	return grown(ok, 0, nil, slices.Repeat([]added{{0, code}}, 80)...)
}

// firstFire is how long a job may wait for its first fire after the server's start, whatever is
// being compiled. Without other jobs it takes two seconds.
const firstFire = 10 * time.Second

// TestHostileCompile starts a server in a memory group of a small machine with four of each
// compile bomb, whose names sort before a job that is due each second.
func TestHostileCompile(t *testing.T) { //nolint:paralleltest // a concurrent test would use its memory and its time
	inGroups(t, compileInGroup)
}

func compileInGroup(t *testing.T, g group) {
	t.Helper()
	dir := t.TempDir()
	toml := "schema = 1\n[server]\ndata_dir = \"data\"\n" + eachSecond("neighbour")
	copyModule(t, dir, "neighbour", "ok", nil)
	waiting := map[string]bool{}
	for name, bomb := range compileBombs {
		for serial := range 4 {
			job := fmt.Sprintf("a-%s-%d", name, serial)
			copyModule(t, dir, job, "ok", func(ok []byte) []byte { return bomb(ok, serial) })
			toml += eachSecond(job)
			waiting[job] = true
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "jobs.toml"), []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	for start := range 2 {
		began, first, late := time.Now(), time.Duration(0), time.Duration(0)
		left := map[string]bool{}
		for job := range waiting {
			left[job] = true
		}
		d := startServeBy(t, dir, g.enter())
		d.until(t, func(e eventLine) bool {
			switch {
			case e.Event == "start" && e.Job == "neighbour":
				if first == 0 {
					first = time.UnixMilli(e.UnixMS).Sub(began)
				}
				late = max(late, time.Duration(e.UnixMS-e.Scheduled)*time.Millisecond)
			case e.Event == "end":
				delete(left, e.Job)
			}
			return len(left) == 0 && first > 0
		})
		stopServe(t, d)
		t.Logf("start %d: the neighbour fired first after %s, and at most %s late; all had ended after %s", start+1, first, late, time.Since(began).Round(time.Second))
		if first > firstFire || late > neighbourStuck {
			t.Errorf("start %d: the neighbour fired first after %s, and was up to %s late", start+1, first, late)
		}
	}
	states := map[string]int{}
	for job, rows := range rowsByJob(t, dir) {
		for _, r := range rows {
			states[strings.TrimRight(job, "-0123456789")+" "+r.State]++
			named := strings.Contains(r.Error, "compil") || strings.Contains(r.Error, "machine code")
			if r.State == "failed" && !named || job == "neighbour" && r.State == "failed" {
				t.Errorf("%s is %s: %q", job, r.State, shorten(r.Error))
			}
		}
	}
	if n := g.kills(t); n != 0 {
		t.Errorf("the system ended %d processes for want of memory", n)
	}
	t.Logf("at most %d MiB were used; %v", g.peak(t)>>20, states)
}

// eachSecond returns a job that is due each second, with a module of its name.
func eachSecond(name string) string {
	return fmt.Sprintf("[modules.%[1]s]\nsource = \"file:%[1]s.wasm\"\n[jobs.%[1]s]\nmodule = %[1]q\ncron = \"* * * * * ?\"\n", name)
}
