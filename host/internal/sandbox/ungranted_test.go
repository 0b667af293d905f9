package sandbox

import (
	"slices"
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/abi"
	"github.com/wasmjob/wasmjob/host/job"
)

// A guest that opens a file in a directory that was not granted gets a hint, as far
// as the host can see the path.
func TestADirectoryThatIsNotGrantedIsReported(t *testing.T) {
	t.Parallel()
	const open = valI32 + valI32 + valI32 + valI32 + valI32 + valI64 + valI64 + valI32 + valI32
	opens := func(b *builder, dir int64) []byte {
		b.putData(0, "data/sub/x")
		f := b.fromHost(wasiModule, "path_open", open, valI32)
		return append(append(constants(dir, 0, 0, 10, 0), append(append(i64(0), i64(0)...), constants(0, 64)...)...), append(call(f), opDrop)...)
	}
	says := func(b *builder, what string) []byte {
		f := b.abi(abi.FuncErrorSet)
		b.putData(100, what)
		return append(invokes(f, 100, int64(len(what))), opDrop)
	}
	granted := job.Call{Config: job.Config{Allow: job.Allow{Dirs: []job.Dir{{Host: t.TempDir(), Guest: "/in"}}}}}
	nameless := "no directory is granted; if the job needs one, allow it with dirs = ["
	named := `directory /data is not granted: allow it with dirs = ["ro:/path/on/the/server:/data"], or with exec --allow dir=ro:PATH:/data`
	for _, tt := range []struct {
		name  string
		guest func(b *builder) []byte
		call  job.Call
		want  string // empty: no hint
	}{
		{"Go", func(b *builder) []byte { return opens(b, -1) }, job.Call{}, named},
		{"Go, another one is granted", func(b *builder) []byte { return opens(b, -1) }, granted, named},
		{"what is granted is asked", func(b *builder) []byte { return opens(b, 3) }, granted, ""},
		{"the C library", func(b *builder) []byte { return opens(b, 3) }, job.Call{}, nameless},
		{"Go that opens nothing", func(b *builder) []byte {
			b.fromHost(wasiModule, "sched_yield", "", valI32)
			return opens(b, 3)
		}, job.Call{}, ""},
		{"TinyGo", func(b *builder) []byte { return says(b, "open /data/x: errno 76") }, granted, named},
		{"Rust", func(b *builder) []byte {
			return says(b, `failed to find a pre-opened file descriptor through which "/data/x" could be opened`)
		}, granted, named},
		{"C", func(b *builder) []byte { return says(b, "Capabilities insufficient") }, granted, "a directory that the guest wanted is not granted"},
		{"no files", func(b *builder) []byte { return says(b, "no") }, job.Call{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := &builder{}
			code := tt.guest(b)
			out := runOnce(t, b.job(code, i32(abi.ResultFailed)), tt.call)
			if out.Verdict != job.Failure || !strings.Contains(out.Error, tt.want) || tt.want == "" && strings.Contains(out.Error, "granted") {
				t.Errorf("%s: %q, wanted %q", out.Verdict, out.Error, tt.want)
			}
		})
	}
	flow := pipe(func(b *builder, add func(at, n int64) []byte) (fetch, process []byte) {
		open := opens(b, -1)
		return slices.Concat(drop(add(0, 3)), i32(0)), slices.Concat(open, i32(abi.ResultFailed))
	})
	if out := runOnce(t, flow, flowing(nil)); !strings.Contains(out.Error, named) {
		t.Errorf("a dataflow job: %q", out.Error)
	}
	b := &builder{}
	if out := runOnce(t, b.job(opens(b, -1), i32(0)), job.Call{}); out.Verdict != job.OK || out.Error != "" {
		t.Errorf("a guest that does without: %+v", out)
	}
}

// A module that can open files gets the hint about directories only if it speaks of files
// and nothing else is known that its run lacked.
func TestFailuresWithoutFilesHaveNoHintAboutDirectories(t *testing.T) {
	t.Parallel()
	const open = valI32 + valI32 + valI32 + valI32 + valI32 + valI64 + valI64 + valI32 + valI32
	const hint = "no directory is granted"
	fails, traps := i32(abi.ResultFailed), op(opUnreachable)
	says := func(text string) func(a *asking) {
		return func(a *asking) { a.ask(abi.FuncErrorSet, text) }
	}
	panics := func(text string) func(a *asking) {
		return func(a *asking) { a.writes(2, text+"\n") }
	}
	for name, tt := range map[string]struct {
		ask  func(a *asking)
		end  []byte
		want bool
	}{
		"no reason":    {func(*asking) {}, fails, false},
		"own reason":   {says("my own reason"), fails, false},
		"other number": {says("code 200, errno 28, 44 rows"), fails, false},
		"trap":         {func(*asking) {}, traps, false},
		"panic":        {panics("thread 'main' panicked at src/file.rs:12:5:\nindex out of bounds"), traps, false},
		"assert":       {panics("Assertion failed: n > 0 (/src/path/file.c: run: 7)"), traps, false},
		"profile":      {says("the profile is empty"), fails, false},
		"exit": {func(a *asking) {
			a.code = append(a.code, invokes(a.b.fromHost(wasiModule, "proc_exit", valI32, ""), 2)...)
		}, fails, false},
		"number of the author": {func(*asking) {}, i32(144), false},
		"memory": {func(a *asking) {
			a.ask(abi.FuncErrorSet, "no file")
			a.code = slices.Concat(a.code, i32(10_000), op(0x40, 0, opDrop))
		}, fails, false},
		"denied":          {func(a *asking) { a.ask(abi.FuncNow).ask(abi.FuncErrorSet, "No such file") }, fails, false},
		"C":               {says("fopen: No such file or directory"), fails, true},
		"bad descriptor":  {says("Bad file descriptor"), fails, true},
		"Rust":            {panics("thread 'main' panicked at src/lib.rs:1:2:\ncalled `Result::unwrap()` on an `Err` value: Os { code: 44, kind: NotFound }"), traps, true},
		"Rust, displayed": {says("read it (os error 8)"), fails, true},
		"TinyGo":          {says("open x: errno 2"), fails, true},
		"Python":          {says("FileNotFoundError: [Errno 44] x"), fails, true},
		"words":           {says("cannot read the file."), fails, true},
		"a directory":     {says("no such directory: x"), fails, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &asking{end: tt.end}
			a.b.fromHost(wasiModule, "path_open", open, valI32)
			tt.ask(a)
			_, _, out := a.run(t, job.Call{})
			if out.Verdict != job.Failure || strings.Contains(out.Error, hint) != tt.want {
				t.Errorf("%s: %q", out.Verdict, out.Error)
			}
		})
	}
}
