package zk

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/registry"
)

// parentOf returns the path of the parent; the root is its own parent.
func parentOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}

// full returns the service's path for one of the session, whose root is the chroot.
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

// own returns the session's path for one of the service.
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
		// The service's refusal would cost a round trip and, for some faults, the connection.
		if !registry.ValidPath(path) {
			return i
		}
	}
	return -1
}
