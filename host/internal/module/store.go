// Package module stores guest modules, each under the SHA-256 of its bytes, and
// loads modules from the sources that a configuration names.
//
// It does not interpret a module: checking is the job of package sandbox. Here a
// module is a sequence of bytes with a digest.
//
// Prune removes modules that are not in use.
//
// A signature travels with the bytes of its module, and is kept beside them. If the store
// has Keys, it stores and returns only modules that are signed by one of them.
//
// Flow: LoadSource or Put → Stage, a temporary file → Keep, files <digest>.minisig and
// <digest>.wasm in the store's directory → Get, which verifies digest and signature
// before it returns the bytes.
package module

import (
	"bytes"
	"cmp"
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

	"github.com/wasmjob/wasmjob/host/internal/signature"
)

var (
	// ErrNotFound reports that a digest is not in the store, or a source does not
	// exist.
	ErrNotFound = errors.New("module not found")
	// ErrTooBig reports a module with more bytes than the caller's limit.
	ErrTooBig = errors.New("module too big")
	// ErrDamaged reports a stored module whose bytes do not match its digest.
	ErrDamaged = errors.New("stored module is damaged")
	// ErrPin reports a module whose bytes do not match the pinned digest.
	ErrPin = errors.New("module is not the pinned one")
	// ErrSigned reports a signature that would replace another one, while no key decides
	// which of the two is right.
	ErrSigned = errors.New("the module has another signature already")
)

const (
	suffix     = ".wasm"
	unfinished = ".put-*"
)

// Store is a directory of modules. Its methods are safe for concurrent use, and
// several processes may share the directory.
type Store struct {
	dir  string
	keys signature.Keys // the keys that may sign; without any, modules need no signature
}

// Open opens the store in dir, which it creates with mode 0700 if necessary. It removes
// temporary files that an interrupted Put left long ago, and puts back modules that an
// interrupted Prune set aside.
func Open(dir string, keys signature.Keys) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open module store: %w", err)
	}
	entries, err := os.ReadDir(dir) // not Glob: dir may contain wildcards
	if err != nil {
		return nil, fmt.Errorf("open module store: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), strings.TrimSuffix(unfinished, "*")) {
			continue
		}
		f := filepath.Join(dir, e.Name())
		// A recent one may still be written by another process.
		if info, err := os.Lstat(f); err != nil || time.Since(info.ModTime()) < time.Hour {
			continue
		}
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("open module store: %w", err)
		}
	}
	s := &Store{dir: dir, keys: keys}
	return s, s.restoreAll(entries)
}

// Put stores the bytes of r, at most limit, and returns their digest. After Put
// returns nil, the module survives a power loss. Put does not write a module again
// that is already stored. sign is the text of its signature; without one, a signature
// that is already stored stays.
func (s *Store) Put(r io.Reader, sign []byte, limit int64) (digest string, err error) {
	return s.put(r, "", sign, limit)
}

// PutAs is Put for a module with a known digest. If the bytes have another digest,
// it stores nothing and returns ErrPin.
func (s *Store) PutAs(r io.Reader, digest string, sign []byte, limit int64) error {
	if err := CheckDigest(digest); err != nil {
		return err
	}
	_, err := s.put(r, digest, sign, limit)
	return err
}

// put stores the bytes of r. A pin other than "" is the digest that they must have.
func (s *Store) put(r io.Reader, pin string, sign []byte, limit int64) (digest string, err error) {
	staged, err := s.Stage(r, limit)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	return staged.Digest(), staged.Keep(cmp.Or(pin, staged.Digest()), sign)
}

// create makes a file that keep renames or discard removes. It is in the same directory,
// since a rename is atomic only within one file system.
func (s *Store) create() (*os.File, error) {
	f, err := os.CreateTemp(s.dir, unfinished)
	if err != nil {
		return nil, fmt.Errorf("store module: %w", err)
	}
	return f, nil
}

// keep gives a file from create its name, durably: the bytes reach the disk first.
func (s *Store) keep(f *os.File, path string) error {
	err := f.Sync()
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	return s.syncDir()
}

// discard closes a file, and removes it unless it was kept.
func discard(f *os.File) error {
	err := f.Close()
	if rmErr := os.Remove(f.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}

// Open returns a reader for the bytes of a module, and their number. It does not
// verify the digest; the caller does.
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

// Size returns the number of bytes of a stored module.
func (s *Store) Size(digest string) (int64, error) {
	f, size, err := s.Open(digest)
	if err != nil {
		return 0, err
	}
	return size, f.Close()
}

// syncDir makes a rename durable.
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

// Get returns the bytes of a module after verifying its digest and signature. It returns
// ErrDamaged if the bytes do not have the digest; Put repairs the module. In a store with
// keys it returns signature.ErrUnsigned for a module that none of them has signed.
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
	if len(s.keys) > 0 {
		if err := s.Verify(digest, bytes.NewReader(b), s.keys); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// List returns the digests of all stored modules in ascending order. It does not
// read the modules.
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

// Digest returns the address of a module: the SHA-256 of its bytes in lower-case
// hex.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// CheckDigest returns an error if s does not have the form of a digest. The store
// builds paths from checked digests only.
func CheckDigest(s string) error {
	if len(s) != 2*sha256.Size || strings.Trim(s, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a sha256 digest: write 64 lower-case hex digits", s)
	}
	return nil
}
