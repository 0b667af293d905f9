package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/supply"
)

// HeldModule is a module on the disk of a server.
type HeldModule struct {
	Digest string
	Size   int64
	Since  time.Time // when the server last received it
}

// HeldModules lists the modules on the disk of the server with the data directory dir, by
// digest.
func HeldModules(dir string) ([]HeldModule, error) {
	held, err := supply.Dir(dir).Held()
	if err != nil {
		return nil, failf(Internal, err, "data directory %s", dir)
	}
	return heldOf(held), nil
}

// HasModule reports whether a module may be on the disk of the server with the data directory
// dir. It does so, too, if dir cannot be read. Unlike HeldModules it creates no directory.
func HasModule(dir, digest string) bool {
	_, err := os.Stat(filepath.Join(dir, "modules", digest+".wasm"))
	return !errors.Is(err, fs.ErrNotExist)
}

// PruneModules removes modules from the disk of the server with the data directory dir: those
// that the server last received before a time and that used does not return. The server may be
// running, and uploads and other calls may go on meanwhile. PruneModules calls used twice, and
// removes no module if used fails or returns it the second time. Dry only lists the modules.
func PruneModules(dir string, before time.Time, dry bool, used func() (map[string]bool, error)) ([]HeldModule, error) {
	gone, err := supply.Dir(dir).Prune(before, dry, used)
	if e, ok := errors.AsType[*Error](err); ok {
		return heldOf(gone), failf(e.Code, err, "prune the modules in %s", dir)
	}
	if err != nil {
		return heldOf(gone), failf(Internal, err, "prune the modules in %s", dir)
	}
	return heldOf(gone), nil
}

func heldOf(held []module.Held) []HeldModule {
	all := make([]HeldModule, 0, len(held))
	for _, h := range held {
		all = append(all, HeldModule(h))
	}
	return all
}
