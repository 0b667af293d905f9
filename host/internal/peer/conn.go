package peer

import (
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

const modulesPath = "/modules/"

func digestOf(path string) (string, bool) {
	digest, ok := strings.CutPrefix(path, modulesPath)
	return digest, ok && module.CheckDigest(digest) == nil
}
