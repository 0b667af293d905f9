package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/wasmjob/wasmjob/host/guest"
)

// trial is what modules are run with outside of a server. Their compiled code is
// kept in the cache directory of the user, if the environment tells of one.
func trial(term *terminal) guest.Trial {
	t := guest.Trial{Note: func(err error) { term.note("%v", err) }}
	top := term.variable("XDG_CACHE_HOME")
	if home := term.variable("HOME"); home != "" {
		top = cmp.Or(top, filepath.Join(home, ".cache"))
	}
	if filepath.IsAbs(top) {
		t.CacheDir = filepath.Join(top, "wasmjobd")
	}
	return t
}

// variable is one of the environment; the last of a name counts.
func (t *terminal) variable(name string) (value string) {
	for _, entry := range t.env {
		if text, is := strings.CutPrefix(entry, name+"="); is {
			value = text
		}
	}
	return value
}
