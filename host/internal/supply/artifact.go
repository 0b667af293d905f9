package supply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/module"
)

const (
	// pullTimeout bounds the pull of a module from a registry of artifacts.
	pullTimeout = 2 * time.Minute
	// pullAgain is how long a failed pull is not repeated.
	pullAgain = 30 * time.Second
	// pullsAtOnce is how many modules are pulled at the same time. Each is held in
	// memory.
	pullsAtOnce = 2
)

// Artifact is a module as it comes from a registry of artifacts.
type Artifact struct {
	Wasm      []byte
	Signature []byte // nil if there is none
	Manifest  string // the digest of its manifest, as sha256:HEX
}

// Pull fetches an artifact.
type Pull func(ctx context.Context, reference string) (Artifact, error)

// pulled stores the module of an artifact, and returns its digest. If the digest of the
// module or of the manifest is pinned, and the disk has that module, it sends no request.
func (c *Catalog) pulled(ctx context.Context, f File) (string, error) {
	if digest := c.pulledBefore(f); digest != "" {
		return digest, nil
	}
	if c.pull == nil {
		return "", fmt.Errorf("this server pulls no artifacts, and %s is one", f.Artifact)
	}
	ctx, cancel := context.WithTimeout(ctx, pullTimeout)
	defer cancel()
	select { // one of the slots for pulls
	case c.pulling <- struct{}{}:
		defer func() { <-c.pulling }()
	case <-ctx.Done():
		return "", fmt.Errorf("pull %s: waited for other pulls: %w", f.Artifact, ctx.Err())
	}
	a, err := c.pull(ctx, f.Artifact)
	if err != nil {
		if f.manifest() == "" && f.pin() == "" {
			return "", fmt.Errorf("%w; with @sha256:… after the reference, a server that has the module does not ask the registry", err)
		}
		return "", err
	}
	digest := module.Digest(a.Wasm)
	if pin := f.pin(); pin != "" && digest != pin {
		return "", fmt.Errorf("%s: %w: its sha256 is %s, the pin is %s", f.Artifact, module.ErrPin, digest, pin)
	}
	if err := c.disk.PutAs(bytes.NewReader(a.Wasm), digest, a.Signature, module.MaxSize); err != nil {
		return "", fmt.Errorf("%s: %w", f.Artifact, err)
	}
	return digest, c.disk.Remember(a.Manifest, digest)
}

// pulledBefore returns the digest of the pinned module if the disk has it with a
// sufficient signature.
func (c *Catalog) pulledBefore(f File) string {
	digest := f.pin()
	if manifest := f.manifest(); manifest != "" {
		known := c.disk.Remembered(manifest)
		if digest != "" && known != digest {
			return "" // a pull shows whether both pins are of one module
		}
		digest = known
	}
	if digest == "" {
		return ""
	}
	if _, err := c.disk.Get(digest); err != nil {
		return "" // a pull replaces it
	}
	return digest
}

// manifest returns the pinned digest of the artifact, or "" if any will do.
func (f File) manifest() string {
	_, digest, _ := strings.Cut(f.Artifact, "@")
	return digest
}

// again reports whether a file must be read, or an artifact pulled, again. A file that
// could not be read is not read again; an artifact is pulled again after pullAgain.
func (r *read) again(f File) bool {
	return !r.done || r.err != nil && f.Artifact != "" && time.Since(r.at) >= pullAgain
}

// ended records a result. If the caller was cancelled, the next one reads again.
func (r *read) ended(ctx context.Context, digest string, err error) {
	r.digest, r.err, r.at = digest, err, time.Now()
	r.done = err == nil || !errors.Is(context.Cause(ctx), context.Canceled)
}
