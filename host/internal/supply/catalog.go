package supply

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/job"
)

// File is a module in a file of the server.
type File struct {
	Path   string
	SHA256 string // the digest that it must have, in hex; empty: any
	// Keys may sign what runs under the name of the module, in addition to Options.Keys.
	// Empty: those alone count.
	Keys []string
}

// pin returns the digest that the module must have, or "" if any will do.
func (f File) pin() string {
	pin := strings.TrimPrefix(f.SHA256, "sha256:")
	if module.CheckDigest(pin) != nil {
		return ""
	}
	return pin
}

// Catalog names the modules of the server's configuration. It reads the file of a
// module once. Put and Remove must not run beside other methods.
type Catalog struct {
	disk  *module.Store
	files map[string]File

	mu   sync.Mutex      // guards read
	read map[string]read // by name
}

// read is the result of reading a file.
type read struct {
	digest string
	err    error
}

func newCatalog(disk *module.Store, files map[string]File) *Catalog {
	return &Catalog{disk: disk, files: files, read: map[string]read{}}
}

// clone returns a copy that reads again the files that could not be read.
func (c *Catalog) clone() *Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := newCatalog(c.disk, map[string]File{})
	maps.Copy(to.files, c.files)
	for name, r := range c.read {
		if r.err == nil {
			to.read[name] = r
		}
	}
	return to
}

// Put adds a module or replaces one. Its file is read again, also if it is the same.
func (c *Catalog) Put(name string, f File) {
	c.files[name] = f
	delete(c.read, name)
}

// Remove removes a module.
func (c *Catalog) Remove(name string) {
	delete(c.files, name)
	delete(c.read, name)
}

// Files returns the modules by name. The caller must not change the map.
func (c *Catalog) Files() map[string]File { return c.files }

// Digest reads the file of a module, stores its bytes, and returns their digest.
func (c *Catalog) Digest(name string) (digest string, err error) {
	c.mu.Lock()
	r, known := c.read[name]
	c.mu.Unlock()
	if known {
		return r.digest, r.err
	}
	if f, ok := c.files[name]; !ok {
		r.err = fmt.Errorf("this server has no module %q", name)
	} else if r.digest, _, r.err = c.disk.LoadSource("file:"+f.Path, f.SHA256, "", module.MaxSize); r.err != nil {
		r.err = fmt.Errorf("module %s: %w", name, r.err)
	} else if err := c.verify(name, r.digest); err != nil {
		r.err = fmt.Errorf("module %s: %w", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read[name] = r
	return r.digest, r.err
}

// verify returns an error if a stored module is not signed by one of the keys for its name.
func (c *Catalog) verify(name, digest string) error {
	f := c.files[name]
	if len(f.Keys) == 0 {
		return nil
	}
	keys, err := signature.ParseKeys(f.Keys)
	if err != nil {
		return fmt.Errorf("its keys: %w", err)
	}
	wasm, err := c.disk.Get(digest)
	if err != nil {
		return err
	}
	return c.disk.Verify(digest, bytes.NewReader(wasm), keys)
}

// signers are the keys that may sign what a job runs, beside those of the server.
func (c *Catalog) signers(j *job.Config) []string {
	if one := c.files[j.StrategyModule].Keys; len(one) > 0 {
		return slices.Concat(c.files[j.Module].Keys, []string{""}, one)
	}
	return c.files[j.Module].Keys
}

// Expected returns the digest of a module. If the file cannot be read, it returns the
// digest pinned in the configuration, or "" if there is none.
func (c *Catalog) Expected(name string) string {
	if digest, err := c.Digest(name); err == nil {
		return digest
	}
	return c.files[name].pin()
}

// storeFrom stores the bytes of a module if one of the files has them, and reports
// whether one has.
func (c *Catalog) storeFrom(digest string) bool {
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		if f := c.files[name]; f.SHA256 == "" || f.SHA256 == digest {
			if got, _, err := c.disk.LoadSource("file:"+f.Path, f.SHA256, "", module.MaxSize); err == nil && got == digest {
				return true
			}
		}
	}
	return false
}
