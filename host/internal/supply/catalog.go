package supply

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
	"github.com/wasmjob/wasmjob/host/internal/signature"
	"github.com/wasmjob/wasmjob/host/job"
)

// File is a module in a file of the server, or in an artifact.
type File struct {
	Path     string
	Artifact string // a reference used instead of Path, such as oci://registry.example/report:1.4.0; empty if none
	SHA256   string // the digest that it must have, in hex; empty if any
	// Keys restrict Options.Keys to those that may sign modules under this name. If empty,
	// they do not.
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

// Catalog holds the modules of the server's configuration. It reads the file of a module,
// or pulls its artifact, once. Put and Remove must not run concurrently with other
// methods.
type Catalog struct {
	disk    *module.Store
	files   map[string]File
	pull    Pull          // nil if there are no artifacts
	pulling chan struct{} // a pull holds its slot

	mu   sync.Mutex       // guards read
	read map[string]*read // by name
}

// read is the result of reading a file, or of pulling an artifact.
type read struct {
	mu     sync.Mutex // held during the read
	done   bool       // the fields below are valid
	digest string
	err    error
	at     time.Time
}

func newCatalog(disk *module.Store, files map[string]File, pull Pull) *Catalog {
	return &Catalog{disk: disk, files: files, pull: pull, pulling: make(chan struct{}, pullsAtOnce), read: map[string]*read{}}
}

// clone returns a copy of the catalog. The copy reads again the files that could not be
// read.
func (c *Catalog) clone() *Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := newCatalog(c.disk, map[string]File{}, c.pull)
	maps.Copy(to.files, c.files)
	for name, r := range c.read {
		if !r.mu.TryLock() { // a read is in progress; the copy reads for itself
			continue
		}
		if r.done && r.err == nil {
			to.read[name] = &read{done: true, digest: r.digest}
		}
		r.mu.Unlock()
	}
	return to
}

// Put adds or replaces a module. Its file is read again, even if it is the same.
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

// Digest reads the file of a module, or pulls its artifact, stores the bytes, and returns
// their digest.
func (c *Catalog) Digest(ctx context.Context, name string) (string, error) {
	f, ok := c.files[name]
	if !ok {
		return "", fmt.Errorf("this server has no module %q", name)
	}
	c.mu.Lock()
	r := c.read[name]
	if r == nil {
		r = &read{}
		c.read[name] = r
	}
	c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.again(f) {
		digest, err := c.take(ctx, f)
		if err == nil {
			err = c.verify(name, digest)
		}
		if err != nil {
			err = fmt.Errorf("module %s: %w", name, err)
		}
		r.ended(ctx, digest, err)
	}
	return r.digest, r.err
}

// take reads the module from its file, or pulls its artifact, stores the bytes, and
// returns their digest.
func (c *Catalog) take(ctx context.Context, f File) (digest string, err error) {
	if f.Artifact != "" {
		return c.pulled(ctx, f)
	}
	digest, _, err = c.disk.LoadSource("file:"+f.Path, f.SHA256, "", module.MaxSize)
	return digest, err
}

// verify returns an error if a stored module is not signed by one of the keys of its
// name.
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

// signers returns the Keys of the job's modules, which restrict their signatures, as one
// list that is equal only if both are. Prepared code is used only while it stays the same.
func (c *Catalog) signers(j *job.Config) []string {
	if one := c.files[j.StrategyModule].Keys; len(one) > 0 {
		return slices.Concat(c.files[j.Module].Keys, []string{""}, one)
	}
	return c.files[j.Module].Keys
}

// Expected returns the digest of a module. If the file cannot be read, it returns the
// digest pinned in the configuration, or "" if there is none.
func (c *Catalog) Expected(ctx context.Context, name string) string {
	if digest, err := c.Digest(ctx, name); err == nil {
		return digest
	}
	return c.files[name].pin()
}

// storeFrom stores the module with the given digest if one of the files or artifacts has
// it, and reports whether one has.
func (c *Catalog) storeFrom(ctx context.Context, digest string) bool {
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		f := c.files[name]
		if pin := f.pin(); pin != "" && pin != digest {
			continue
		}
		// A registry that has just failed is not asked again at once.
		if held, err := c.Digest(ctx, name); f.Artifact != "" && (err != nil || held != digest) {
			continue
		}
		// Digest may only remember what was stored once. take stores the bytes again.
		if got, err := c.take(ctx, f); err == nil && got == digest {
			return true
		}
	}
	return false
}
