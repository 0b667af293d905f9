package peer

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

const modulesPath = "/modules/"

// digestOf returns the digest in the path of a request, and whether it has the form of
// one.
func digestOf(path string) (string, bool) {
	digest, ok := strings.CutPrefix(path, modulesPath)
	return digest, ok && module.CheckDigest(digest) == nil
}
