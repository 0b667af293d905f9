package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/wasmjob/wasmjob/host/guest"
)

// guestOptions returns the options with which modules are run outside of a server.
// Compiled code is kept in the user's cache directory, if the environment names
// one.
func guestOptions(term *terminal) guest.Options {
	o := guest.Options{Note: func(err error) { term.note("%v", err) }}
	top := term.variable("XDG_CACHE_HOME")
	if home := term.variable("HOME"); home != "" {
		top = cmp.Or(top, filepath.Join(home, ".cache"))
	}
	if filepath.IsAbs(top) {
		o.CacheDir = filepath.Join(top, "wasmjobd")
	}
	return o
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
