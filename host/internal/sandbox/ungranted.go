package sandbox

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wasmjob/wasmjob/host/internal/wasm"
)

const maxUngrantedPath = 200 // bytes of a path

// noDirectory is the descriptor that guests in Go use for a path outside all granted
// directories.
const noDirectory = 1<<32 - 1

// recordPath wraps a WASI function with a path. The run then records whether such a
// function failed, and the first path outside all granted directories. Other functions
// stay as they are; path_symlink has its descriptor in another place.
func recordPath(name string, do api.GoModuleFunction, bounds []wasiBound) api.GoModuleFunction {
	if !strings.HasPrefix(name, "path_") || name == "path_symlink" {
		return do
	}
	at := bounds[0].param // the length; the address is before it
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
		dir, address, length := u32(stack[0]), u32(stack[at-1]), u32(stack[at])
		do.Call(ctx, mod, stack)
		r := runOf(ctx)
		r.pathFailed = r.pathFailed || stack[0] != 0
		if dir == noDirectory && r.ungrantedPath == "" {
			text, _ := mod.Memory().Read(address, min(length, maxUngrantedPath))
			r.ungrantedPath = string(text)
		}
	})
}

// noDirMessage matches the messages of guests for a path outside all granted
// directories: those of Rust's standard library, TinyGo, and the C library of WASI.
var noDirMessage = regexp.MustCompile(`pre-opened file descriptor through which "([^"]+)"|(/\S+): errno 76\b|Capabilities insufficient`)

// fileMessage matches text about files: words, or numbers of errors that opening a file
// has. It matches no names of files, as panics contain them.
var fileMessage = regexp.MustCompile(`(?i)(^|[\s"'(])(files?|paths?|director(y|ies)|ENOENT|EBADF|ENOTCAPABLE)([\s"'),;:!?]|\.\s|\.?$)|\b(errno\]?[ :=]*|os error |os \{ code: )(2|8|44|76)\b|FileNotFound`)

// ungranted returns a line about a directory that the guest of a failed run needed
// but was not granted, or "". text is the output of the guest. The C library of
// WASI, which Rust and TinyGo use too, searches the granted directories itself and
// calls no function of the host if none matches. Then the evidence is its message in the
// output. Without one there is only a weak hint, if no directory is granted, the guest
// mentions files or a function with a path failed, and the run lacked nothing else.
func (r *run) ungranted(text string) string {
	wanted := r.ungrantedPath
	found := noDirMessage.FindStringSubmatch(text)
	if found != nil && wanted == "" {
		wanted = found[1] + found[2]
	}
	hint := func(guest string) string {
		return fmt.Sprintf(`allow it with dirs = ["ro:/path/on/the/server:%s"], or with exec --allow dir=ro:PATH:%s`, guest, guest)
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(path.Clean("/"+wanted), "/"), "/")
	switch {
	case top != "":
		guest := "/" + shorten(r.log.secrets.hideAll(top))
		return "\ndirectory " + guest + " is not granted: " + hint(guest)
	case found != nil:
		return "\na directory that the guest wanted is not granted: " + hint("/data")
	case len(r.facts.call.Config.Allow.Dirs) == 0 && r.compiled.opensFiles && !r.lackedOther() && (r.pathFailed || fileMessage.MatchString(text)):
		return "\nno directory is granted; if the job needs one, " + hint("/data")
	}
	return ""
}

// lackedOther reports whether the host knows something else that the run lacked.
func (r *run) lackedOther() bool {
	return r.refused.function != nil || r.memoryLimitReached || r.memoryErr != nil
}

// opensFiles reports whether the module contains code that opens files. Go modules
// always do; sched_yield identifies them, and recordPath sees what they open.
func (m *decodedModule) opensFiles() bool {
	imports := func(name string) bool {
		return slices.ContainsFunc(m.Imports, func(i wasm.Import) bool { return i.Module == wasiModule && i.Name == name })
	}
	return imports("path_open") && !imports("sched_yield")
}
