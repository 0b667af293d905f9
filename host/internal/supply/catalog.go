package supply

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

// File says where a module of the sandbox is.
type File struct {
	Path   string
	SHA256 string // the digest that it must have, hex; empty: any
}

// pin is the digest that a module must have; empty: any.
func (f File) pin() string {
	pin := strings.TrimPrefix(f.SHA256, "sha256:")
	if module.CheckDigest(pin) != nil {
		return ""
	}
	return pin
}

// Catalog are the modules of the server's own file, by name.
type Catalog struct {
	bytes *module.Store
	files map[string]File

	mu    sync.Mutex       // guards what follows
	names map[string]named // of files, as far as they were read
}

// named is what the server's own file calls a module.
type named struct {
	digest string
	err    error
}

func newCatalog(bytes *module.Store, files map[string]File) *Catalog {
	return &Catalog{bytes: bytes, files: files, names: map[string]named{}}
}

// clone has those of the names that were read without fault.
func (c *Catalog) clone() *Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := newCatalog(c.bytes, map[string]File{})
	maps.Copy(o.files, c.files)
	for name, n := range c.names {
		if n.err == nil {
			o.names[name] = n
		}
	}
	return o
}

// Put adds a module, or has it read anew.
func (c *Catalog) Put(name string, f File) {
	c.files[name] = f
	delete(c.names, name)
}

// Remove takes a module away.
func (c *Catalog) Remove(name string) {
	delete(c.files, name)
	delete(c.names, name)
}

// All are the modules, which the caller does not change.
func (c *Catalog) All() map[string]File { return c.files }

// Digest reads a module, once, and tells its digest.
func (c *Catalog) Digest(name string) (digest string, err error) {
	c.mu.Lock()
	n, known := c.names[name]
	c.mu.Unlock()
	if known {
		return n.digest, n.err
	}
	if f, ok := c.files[name]; !ok {
		n.err = fmt.Errorf("this server has no module %q", name)
	} else if n.digest, _, n.err = c.bytes.LoadSource("file:"+f.Path, f.SHA256, "", module.MaxSize); n.err != nil {
		n.err = fmt.Errorf("module %s: %w", name, n.err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[name] = n
	return n.digest, n.err
}

// Expected is the digest of a module as far as it can be told: if the file is not
// there, by what it must have; else empty.
func (c *Catalog) Expected(name string) string {
	if digest, err := c.Digest(name); err == nil {
		return digest
	}
	return c.files[name].pin()
}

// has puts a module into the store if it is in one of the files.
func (c *Catalog) has(digest string) bool {
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if f := c.files[name]; f.SHA256 == "" || f.SHA256 == digest {
			if got, _, err := c.bytes.LoadSource("file:"+f.Path, f.SHA256, "", module.MaxSize); err == nil && got == digest {
				return true
			}
		}
	}
	return false
}
