package zk

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// parentOf is the path of the parent; the root is its own.
func parentOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}

// full is the path as the service knows it.
func (s *session) full(path string) string {
	chroot := s.registry.options.Chroot
	switch {
	case chroot == "":
		return path
	case path == "/":
		return chroot
	}
	return chroot + path
}

// own is the path as it is known here.
func (s *session) own(path string) string {
	if path = path[len(s.registry.options.Chroot):]; path == "" {
		return "/"
	}
	return path
}

// badPath returns the index of the first op whose path the service refuses, or -1.
func badPath(ops []registry.Op) int {
	for i := range ops {
		path := ops[i].Path
		if kind := ops[i].Kind; kind == registry.CreateSequential || kind == registry.CreateEphemeralSequential {
			path += "0" // the number completes the name
		}
		// Asking the service would cost the whole transaction a round trip, and for some
		// faults the connection.
		if !registry.ValidPath(path) {
			return i
		}
	}
	return -1
}
