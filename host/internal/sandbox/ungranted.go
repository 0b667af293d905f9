package sandbox

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

const maxUngrantedPath = 200 // bytes of a path

// noDirectory is what guests in Go ask for a path that no granted directory fits.
const noDirectory = 1<<32 - 1

// recordPath is a function of WASI that keeps such a path.
func recordPath(name string, do api.GoModuleFunction, bounds []wasiBound) api.GoModuleFunction {
	if !strings.HasPrefix(name, "path_") || name == "path_symlink" {
		return do
	}
	at := bounds[0].param // of the length, behind the address
	return api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
		dir, address, length := u32(stack[0]), u32(stack[at-1]), u32(stack[at])
		do.Call(ctx, mod, stack)
		if r := runOf(ctx); dir == noDirectory && r.ungrantedPath == "" {
			text, _ := mod.Memory().Read(address, min(length, maxUngrantedPath))
			r.ungrantedPath = string(text)
		}
	})
}

// noDirMessage is what guests say when no granted directory fits a path: the standard
// library of Rust, TinyGo, and the C library of WASI.
var noDirMessage = regexp.MustCompile(`pre-opened file descriptor through which "([^"]+)"|(/\S+): errno 76\b|Capabilities insufficient`)

// ungranted is the line about a directory that the guest of a failed run wanted and
// was not granted, or "". text is what the guest said. The C library of WASI, which
// Rust and TinyGo have, too, looks through the granted directories itself and calls
// nothing if none fits: then all there is to go by is that the module can open
// files, and may open none.
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
	case len(r.facts.call.Config.Allow.Dirs) == 0 && r.c.opensFiles():
		return "\nno directory is granted; if the job needs one, " + hint("/data")
	}
	return ""
}

// opensFiles tells whether the module was linked with what opens files. That of Go
// always is, which sched_yield gives away, and what it opens noting sees.
func (c *compilation) opensFiles() bool {
	imports := func(name string) bool {
		return slices.ContainsFunc(c.report.Imports, func(i Import) bool { return i.Module == wasiModule && i.Name == name })
	}
	return imports("path_open") && !imports("sched_yield")
}
