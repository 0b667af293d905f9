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

func (s *Store) signaturePath(digest string) string {
	return filepath.Join(s.dir, digest+signature.Suffix)
}

// Signature returns the text of the signature that is stored for a module, nil if there is
// none. It does not say whether that is valid.
func (s *Store) Signature(digest string) ([]byte, error) {
	if err := CheckDigest(digest); err != nil {
		return nil, err
	}
	return readSignature(s.signaturePath(digest))
}

// readSignature reads a file with a signature; nil: there is no file.
func readSignature(path string) ([]byte, error) {
	text, err := readFile(path, signature.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no signature is none
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

// checkSignature refuses a signature that does not count, so that it never takes the place of
// one that does. Without a text the stored signature has to do.
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

// storedSignature is the text that the store has for the bytes. What cannot be read is none.
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

// Admit returns an error if the text of a signature would not do for a module of that digest,
// whatever its bytes are: by an unknown key or, without one, if the stored signature is. Where
// no key says what is right, a text does not take the place of another one, since whoever
// asks for signatures later would miss the right one. A digest of "" is not known yet. Admit reads no
// module, so it takes one that is damaged for one that is there.
func (s *Store) Admit(digest string, text []byte) error {
	return s.admit(digest, text, func(digest string) bool {
		_, err := os.Stat(s.path(digest))
		return err == nil
	})
}

// admit is Admit by what it means that the module is there.
func (s *Store) admit(digest string, text []byte, there func(digest string) bool) error {
	var stored []byte
	if digest != "" {
		stored, _ = s.Signature(digest) // one that cannot be read counts as none
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
		return nil //nolint:nilerr // what is damaged may be replaced
	}
	return fmt.Errorf("%w: set module_keys, and what one of them has signed takes its place, or let whoever owns the disk delete %s%s", ErrSigned, digest, signature.Suffix)
}

// putSignature stores the signature of a module; an empty text is none.
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

// pruneSignature removes the signature of a module that was pruned, unless it was stored at
// or after before. It is first moved to dir, the directory of this Prune: an upload may have
// replaced it since its age was read, and Prune gives back what is left in dir.
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

// older reports whether a file is there and was written before a time.
func older(path string, before time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.ModTime().Before(before)
}
