package supply

import (
	"io"
	"path/filepath"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/sandbox"
)

// Dir is the data directory of a server, which may run meanwhile.
type Dir string

func (d Dir) open() (*module.Store, error) {
	return module.Open(filepath.Join(string(d), "modules"))
}

// cache is where compiled modules are.
func (d Dir) cache() string { return filepath.Join(string(d), "cache") }

// Keep puts the bytes of a module into the store. Bytes that do not have the digest
// are refused, and so are more than a module may have.
func (d Dir) Keep(r io.Reader, digest string) error {
	store, err := d.open()
	if err != nil {
		return err
	}
	return store.PutAs(r, digest, module.MaxSize)
}

// Refused are the modules, by digest, that the server does not compile any more
// because that ended processes, each with the reason.
func (d Dir) Refused() (map[string]string, error) { return sandbox.RefusedModules(d.cache()) }

// Retry has the server compile a module again that it refuses.
func (d Dir) Retry(digest string) error { return sandbox.RetryModule(d.cache(), digest) }
