package sandbox

import (
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
	b := &builder{}
	if out := runOnce(t, b.job(opens(b, -1), i32(0)), job.Call{}); out.Verdict != job.OK || out.Error != "" {
		t.Errorf("a guest that does without: %+v", out)
	}
}
