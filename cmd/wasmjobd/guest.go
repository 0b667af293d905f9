package main

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/guest"
)

// guestOptions returns the options for modules that run outside of a server. Compiled code is
// stored in the user's cache directory, if the environment names one.
func guestOptions(term *terminal) guest.Options {
	o := guest.Options{Note: func(err error) { term.note("%v", err) }}
	top, _ := variable(term.env, "XDG_CACHE_HOME")
	if home, _ := variable(term.env, "HOME"); home != "" {
		top = cmp.Or(top, filepath.Join(home, ".cache"))
	}
	if filepath.IsAbs(top) {
		o.CacheDir = filepath.Join(top, "wasmjobd")
	}
	return o
}

// variable looks a variable up in an environment that has the form of os.Environ. If it occurs twice,
// the last one counts.
func variable(env []string, name string) (value string, found bool) {
	for _, entry := range slices.Backward(env) {
		if value, found = strings.CutPrefix(entry, name+"="); found {
			return value, true
		}
	}
	return "", false
}
