package supply

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
	"github.com/wasmjob/wasmjob/host/internal/signature"
)

// Dir is the data directory of a server. Its methods may be called while that server
// runs.
type Dir string

// open opens the module store. Modules must be signed by one of the keys.
func (d Dir) open(keys signature.Keys) (*module.Store, error) {
	return module.Open(filepath.Join(string(d), "modules"), keys)
}

// cache returns the directory of compiled modules.
func (d Dir) cache() string { return filepath.Join(string(d), "cache") }

// Stage reads the bytes of a module, up to the size limit. The module can be kept only if
// one of the keys has signed it.
func (d Dir) Stage(r io.Reader, keys signature.Keys) (*module.Staged, error) {
	disk, err := d.open(keys)
	if err != nil {
		return nil, err
	}
	return disk.Stage(r, module.MaxSize)
}

// Admit returns an error if a module would be refused whatever its bytes, because its
// signature does not fit the digest; "" is an unknown digest.
func (d Dir) Admit(digest string, sign []byte, keys signature.Keys) error {
	disk, err := d.open(keys)
	if err != nil {
		return err
	}
	return disk.Admit(digest, sign)
}

// Refused returns the modules that the server no longer compiles because compiling them
// ended processes, with the reasons by digest.
func (d Dir) Refused() (map[string]string, error) { return sandbox.RefusedModules(d.cache()) }

// Retry makes the server compile a refused module again.
func (d Dir) Retry(digest string) error { return sandbox.RetryModule(d.cache(), digest) }

// Held lists the modules on the disk. It lists none if there never was a server.
func (d Dir) Held() ([]module.Held, error) {
	if _, err := os.Stat(string(d)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	disk, err := d.open(nil)
	if err != nil {
		return nil, err
	}
	return disk.Held()
}

// Prune removes, or with dry only lists, modules that were stored before a time and are
// not in use.
func (d Dir) Prune(before time.Time, dry bool, used module.Used) ([]module.Held, error) {
	if _, err := os.Stat(string(d)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	disk, err := d.open(nil)
	if err != nil {
		return nil, err
	}
	if dry {
		return disk.Prunable(before, used)
	}
	return disk.Prune(before, used)
}
