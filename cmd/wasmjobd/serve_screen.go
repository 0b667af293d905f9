package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmjob/wasmjob/host/admin"
)

// greet shows a person who started the server on a terminal how to reach it. made means that the first
// token was just created: then greet shows it, only this once, since a terminal is not a log. A server
// without the file of that token says nothing: another one has it.
func (r *reloader) greet(address string, made bool) {
	name := filepath.Join(r.file().Server.DataDir, firstToken)
	token, err := admin.ReadToken(name)
	if !r.screen || err != nil {
		return
	}
	if dir, err := os.Getwd(); err == nil {
		// A shorter name, if the file is below the working directory.
		if short, err := filepath.Rel(dir, name); err == nil && !strings.HasPrefix(short, "..") {
			name = short
		}
	}
	r.term.note("this server answers at %s; its first token is in %s", address, name)
	if made {
		r.term.note("  %s", token)
	}
	r.term.note("  wasmjobd job list --address %s --token-file %s", address, name)
}

// missing reports whether a file does not exist.
func missing(name string) bool {
	_, err := os.Lstat(name)
	return errors.Is(err, fs.ErrNotExist)
}
