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

// Staged is a module on its way into a Store. Its bytes are in a file that nobody finds before
// Keep. Whoever staged it closes it.
type Staged struct {
	store  *Store
	file   *os.File
	digest string
	size   int64
}

// Stage writes the bytes of r, at most limit, into a file of the store's directory. After an
// error nothing of them is left.
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

// ReadAt implements io.ReaderAt, also after Keep.
func (t *Staged) ReadAt(b []byte, at int64) (int, error) {
	return t.file.ReadAt(b, at)
}

// bytes reads all bytes.
func (t *Staged) bytes() io.Reader { return io.NewSectionReader(t.file, 0, t.size) }

// Check returns the error with which Keep would refuse the module.
func (t *Staged) Check(digest string, sign []byte) error {
	if t.digest != digest {
		return fmt.Errorf("store module: %w: its sha256 is %s, want %s", ErrPin, t.digest, digest)
	}
	if err := t.checkSignature(sign); err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	return nil
}

// Keep stores the module, which must have the digest, with the text of its signature; without
// one, a signature that is already stored stays. After Keep returns nil, the module survives a
// power loss. A module that is already stored is not written again.
func (t *Staged) Keep(digest string, sign []byte) error {
	if len(sign) == 0 {
		// Stored again it is as new as the bytes, and a Prune at this moment leaves both.
		sign = t.storedSignature()
	}
	if err := t.Check(digest, sign); err != nil {
		return err
	}
	// The signature is there before the bytes: whoever finds these finds them signed.
	if err := t.store.putSignature(digest, sign); err != nil {
		return fmt.Errorf("store module: %w", err)
	}
	if t.store.holds(digest) {
		// From now on it is a new one for Prune, unless that has just taken it away.
		now := time.Now()
		if os.Chtimes(t.store.path(digest), now, now) == nil {
			return nil
		}
	}
	return t.store.keep(t.file, t.store.path(digest))
}

// holds reports whether the store has the bytes of a module, without damage.
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
