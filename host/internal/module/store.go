// Package module keeps guest binaries, each under the sha256 of its bytes, and
// fetches them from where a configuration says they are.
//
// It is not for judging what is in a binary: that is the sandbox's part. Here
// bytes are bytes, addressed by digest.
//
// The flow: LoadSource or Put → file <digest>.wasm in the store's directory →
// Get, which hashes what it read before anybody runs it.
package module

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

var (
	// ErrNotFound is the error for a digest or a source that is not there.
	ErrNotFound = errors.New("module not found")
	// ErrTooBig is the error for more bytes than the caller allows.
	ErrTooBig = errors.New("module too big")
	// ErrDamaged is the error for a stored module whose bytes are not those
	// that its digest names.
	ErrDamaged = errors.New("stored module is damaged")
	// ErrPin is the error for a source whose bytes are not those that were
	// pinned.
	ErrPin = errors.New("module is not the pinned one")
)

const (
	suffix     = ".wasm"
	unfinished = ".put-*"
)

// Store is a directory of modules. Its methods may be called from any
// goroutine, and several processes may share the directory.
type Store struct{ dir string }

// Open makes the directory, if need be with mode 0700, and answers the store.
// It removes what a Put left behind that was cut short long ago.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open module store: %w", err)
	}
	entries, err := os.ReadDir(dir) // its path is no pattern
	if err != nil {
		return nil, fmt.Errorf("open module store: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), strings.TrimSuffix(unfinished, "*")) {
			continue
		}
		f := filepath.Join(dir, e.Name())
		// A young one may be the work of another process.
		if info, err := os.Lstat(f); err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open module store: %w", err)
		}
	}
	return &Store{dir: dir}, nil
}

// Put stores what r gives, at most limit bytes, and answers its digest. When
// it returns without error the module will be there after a power loss. What
// is there already is not written again.
func (s *Store) Put(r io.Reader, limit int64) (digest string, err error) {
	return s.put(r, "", limit)
}

// PutAs stores what r gives as Put does, if it has the digest. What has not is
// ErrPin, and is not kept.
func (s *Store) PutAs(r io.Reader, digest string, limit int64) error {
	if err := CheckDigest(digest); err != nil {
		return err
	}
	_, err := s.put(r, digest, limit)
	return err
}

// put stores what r gives; pin is the digest that it must have, empty means any.
func (s *Store) put(r io.Reader, pin string, limit int64) (digest string, err error) {
	// Beside its final place, as only within one file system renaming is atomic.
	f, err := os.CreateTemp(s.dir, unfinished)
	if err != nil {
		return "", fmt.Errorf("store module: %w", err)
	}
	defer func() {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		if rmErr := os.Remove(f.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
	}()
	hash := sha256.New()
	// One byte more than allowed tells a full measure from too much.
	n, err := io.Copy(io.MultiWriter(f, hash), io.LimitReader(r, limit+1))
	if err != nil {
		return "", fmt.Errorf("store module: %w", err)
	}
	if n > limit {
		return "", fmt.Errorf("store module: %w: more than %d bytes", ErrTooBig, limit)
	}
	digest = hex.EncodeToString(hash.Sum(nil))
	if pin != "" && digest != pin {
		return "", fmt.Errorf("store module: %w: its sha256 is %s, wanted is %s", ErrPin, digest, pin)
	}
	if _, err := s.Get(digest); err == nil {
		return digest, nil
	}
	if err := f.Sync(); err != nil {
		return "", fmt.Errorf("store module: %w", err)
	}
	if err := os.Rename(f.Name(), s.path(digest)); err != nil {
		return "", fmt.Errorf("store module: %w", err)
	}
	return digest, s.syncDir()
}

// Open gives the bytes of a module without holding them against the digest, and
// how many they are: for whoever does that itself.
func (s *Store) Open(digest string) (io.ReadCloser, int64, error) {
	if err := CheckDigest(digest); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("%w: sha256 %s is not in the store", ErrNotFound, digest)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read module: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("read module: %w", err), f.Close())
	}
	return f, info.Size(), nil
}

// Size is how many bytes a module of the store has.
func (s *Store) Size(digest string) (int64, error) {
	f, size, err := s.Open(digest)
	if err != nil {
		return 0, err
	}
	return size, f.Close()
}

// syncDir makes a rename last.
func (s *Store) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	err = d.Sync()
	if err := errors.Join(err, d.Close()); err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	return nil
}

// Get reads a module and holds its bytes against the digest. A damaged one is
// ErrDamaged; storing it anew mends it.
func (s *Store) Get(digest string) ([]byte, error) {
	if err := CheckDigest(digest); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(s.path(digest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: sha256 %s is not in the store", ErrNotFound, digest)
	}
	if err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	if got := Digest(b); got != digest {
		return nil, fmt.Errorf("%w: %s has the sha256 %s", ErrDamaged, s.path(digest), got)
	}
	return b, nil
}

// List answers the digests in the store, in ascending order, without reading
// the modules.
func (s *Store) List() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list modules: %w", err)
	}
	var digests []string
	for _, e := range entries {
		if d, ok := strings.CutSuffix(e.Name(), suffix); ok && CheckDigest(d) == nil {
			digests = append(digests, d)
		}
	}
	return digests, nil
}

func (s *Store) path(digest string) string { return filepath.Join(s.dir, digest+suffix) }

// Digest is the address of a module: the sha256 of its bytes in lower-case hex.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// CheckDigest tells whether s has the form of a digest. Only such text ever
// becomes part of a path.
func CheckDigest(s string) error {
	if len(s) != 2*sha256.Size || strings.Trim(s, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a sha256: write 64 lower-case hex digits", s)
	}
	return nil
}
