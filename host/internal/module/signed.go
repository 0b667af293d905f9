package module

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/signature"
)

// signaturePath returns the file with the signature of a module.
func (s *Store) signaturePath(digest string) string {
	return filepath.Join(s.dir, digest+signature.Suffix)
}

// Signature returns the text of the stored signature of a module, or nil if there is
// none. It does not verify it.
func (s *Store) Signature(digest string) ([]byte, error) {
	if err := CheckDigest(digest); err != nil {
		return nil, err
	}
	return readSignature(s.signaturePath(digest))
}

// readSignature reads a file with a signature; nil if there is no file.
func readSignature(path string) ([]byte, error) {
	text, err := readFile(path, signature.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no signature is not an error
	}
	if err != nil {
		return nil, fmt.Errorf("read the signature: %w", err)
	}
	return text, nil
}

// Verify returns an error if the stored signature of a module is not by one of the keys.
func (s *Store) Verify(digest string, wasm io.Reader, keys signature.Keys) error {
	text, err := s.Signature(digest)
	if err == nil {
		_, err = keys.CheckFrom(wasm, text)
	}
	if err != nil {
		return fmt.Errorf("module %s: %w", digest, err)
	}
	return nil
}

// checkSignature refuses an invalid signature of the staged bytes, so that it never
// replaces a valid one. Without a text, the stored signature must be valid.
func (t *Staged) checkSignature(text []byte) error {
	if err := t.store.admit(t.digest, text, t.store.holds); err != nil {
		return err
	}
	if keys := t.store.keys; len(keys) > 0 && len(text) == 0 {
		return t.store.Verify(t.digest, t.bytes(), keys)
	}
	_, err := t.store.keys.CheckFrom(t.bytes(), text)
	return err
}

// storedSignature returns the text of the signature that is stored for the bytes, or nil
// if there is none or it cannot be read.
func (t *Staged) storedSignature() []byte {
	text, err := t.store.Signature(t.digest)
	if err == nil {
		_, err = signature.Parse(text)
	}
	if err != nil {
		return nil
	}
	return text
}

// Admit returns an error if the text of a signature would be refused for a module with
// that digest, whatever its bytes: if the key is unknown or, without a text, if the key
// of the stored signature is. A store without keys cannot tell which signature is right,
// so there a text does not replace another one: clients that ask for the signature later
// would miss the right one. A digest of "" is not known yet. Admit does not read the
// module, so a damaged one counts as present.
func (s *Store) Admit(digest string, text []byte) error {
	return s.admit(digest, text, func(digest string) bool {
		_, err := os.Stat(s.path(digest))
		return err == nil
	})
}

// admit is Admit with a function that reports whether the module is present.
func (s *Store) admit(digest string, text []byte, there func(digest string) bool) error {
	var stored []byte
	if digest != "" {
		stored, _ = s.Signature(digest) // an unreadable one counts as none
	}
	switch {
	case len(s.keys) > 0 && len(text) == 0:
		return s.keys.Admit(stored)
	case len(s.keys) > 0:
		return s.keys.Admit(text)
	case len(text) == 0:
		return nil
	}
	if _, err := signature.Parse(text); err != nil {
		return err
	}
	if _, damaged := signature.Parse(stored); damaged != nil || bytes.Equal(stored, text) || !there(digest) {
		return nil //nolint:nilerr // a damaged one may be replaced
	}
	return fmt.Errorf("%w: set module_keys, so that a module signed by one of them replaces it, or delete %s%s on the server", ErrSigned, digest, signature.Suffix)
}

// putSignature stores the signature of a module, unless the text is empty.
func (s *Store) putSignature(digest string, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	f, err := s.create()
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = s.keep(f, s.signaturePath(digest))
	}
	return errors.Join(err, discard(f))
}

// pruneSignature removes the signature of a pruned module, unless the signature was
// stored at or after before. It first moves it to dir, the directory of this Prune: if an
// upload has replaced it since its age was read, Prune puts it back from there.
func (s *Store) pruneSignature(digest string, before time.Time, dir string) error {
	stored, setAside := s.signaturePath(digest), filepath.Join(dir, digest+signature.Suffix)
	if !older(stored, before) {
		return nil
	}
	if err := os.Rename(stored, setAside); err != nil || !older(setAside, before) {
		return ignoreMissing(err)
	}
	return ignoreMissing(os.Remove(setAside))
}

// older reports whether a file exists and was written before a time.
func older(path string, before time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.ModTime().Before(before)
}
