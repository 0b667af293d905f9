package tree

import "github.com/wasmjob/wasmjob/host/registry"

// maxPath bounds the length of a path. ZooKeeper has no such bound, but without one a few bytes
// of an encoded tree could demand any amount of memory.
const maxPath = 8 << 10

func validPath(path string) bool { return len(path) <= maxPath && registry.ValidPath(path) }
