package module

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Staged is a module that is about to be stored. Until Keep its bytes are in a temporary
// file. The caller of Stage must close it.
type Staged struct {
	store  *Store
	file   *os.File
	digest string
	size   int64
}

// Stage writes the bytes of r, at most limit, to a file in the store's directory. After
// an error no bytes remain.
func (s *Store) Stage(r io.Reader, limit int64) (*Staged, error) {
	f, err := s.create()
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	// Reading one byte more than the limit shows that the module exceeds it.
	n, err := io.Copy(io.MultiWriter(f, hash), io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		err = fmt.Errorf("store module: %w", err)
	case n > limit:
		err = fmt.Errorf("store module: %w: more than %d bytes", ErrTooBig, limit)
	}
	if err != nil {
		return nil, errors.Join(err, discard(f))
	}
	return &Staged{s, f, hex.EncodeToString(hash.Sum(nil)), n}, nil
}

// Digest returns the digest of the bytes.
func (t *Staged) Digest() string { return t.digest }

// Size returns the number of bytes.
func (t *Staged) Size() int64 { return t.size }

// ReadAt implements io.ReaderAt. It also works after Keep.
func (t *Staged) ReadAt(b []byte, at int64) (int, error) {
	return t.file.ReadAt(b, at)
}

// bytes returns a reader of all bytes.
func (t *Staged) bytes() io.Reader { return io.NewSectionReader(t.file, 0, t.size) }

// Check returns the error that Keep would return for the module.
func (t *Staged) Check(digest string, sign []byte) error {
	if t.digest != digest {
		return fmt.Errorf("store module: %w: its sha256 is %s, want %s", ErrPin, t.digest, digest)
	}
	if err := t.checkSignature(sign); err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	return nil
}

// Keep stores the module, which must have the digest, and the text of its signature.
// Without one, a stored signature stays. After Keep returns nil, the module survives a
// power loss. A module that is already stored is not written again.
func (t *Staged) Keep(digest string, sign []byte) error {
	if len(sign) == 0 {
		// Writing it again makes it as new as the bytes, so a concurrent Prune keeps
		// both.
		sign = t.storedSignature()
	}
	if err := t.Check(digest, sign); err != nil {
		return err
	}
	// The signature comes first: a process that finds the bytes finds them signed.
	if err := t.store.putSignature(digest, sign); err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	if t.store.holds(digest) {
		// The new time keeps Prune from removing it, unless it has just done so.
		now := time.Now()
		if os.Chtimes(t.store.path(digest), now, now) == nil {
			return nil
		}
	}
	return t.store.keep(t.file, t.store.path(digest))
}

// holds reports whether the store has the undamaged bytes of a module.
func (s *Store) holds(digest string) bool {
	f, _, err := s.Open(digest)
	if err != nil {
		return false
	}
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return errors.Join(err, f.Close()) == nil && hex.EncodeToString(hash.Sum(nil)) == digest
}

// Close removes the file unless it was kept.
func (t *Staged) Close() error { return discard(t.file) }
