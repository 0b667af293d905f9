package operator

import (
	"maps"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// RetryModule lets the server with a data directory compile a module again although an
// earlier try crashed the server. The server may be running. prefix is the beginning of the
// digest; the whole digest is returned. A dry run only looks for the module.
func RetryModule(dataDir, prefix string, dry bool) (digest string, err error) {
	refused, err := host.RefusedModules(dataDir)
	if err != nil {
		return "", err
	}
	prefix = strings.TrimPrefix(prefix, "sha256:")
	digests := slices.DeleteFunc(slices.Sorted(maps.Keys(refused)), func(d string) bool { return !strings.HasPrefix(d, prefix) })
	switch {
	case len(digests) == 0:
		return "", failf(host.NotFound, nil, "retry a module: the server refuses no module whose digest begins with %.80q", prefix)
	case len(digests) > 1:
		return "", failf(host.Refused, nil, "retry a module: %d refused modules begin with %.80q; write more of the digest", len(digests), prefix)
	case dry:
		return digests[0], nil
	}
	return digests[0], host.RetryModule(dataDir, digests[0])
}
