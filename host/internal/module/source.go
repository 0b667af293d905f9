package module

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// LoadSource reads the module that a configuration names, at most limit bytes,
// stores it, and answers its digest and bytes. References are
//
//	file:PATH     a file, relative to baseDir; a reference without a scheme is the same
//	sha256:HEX    what the store holds already
//
// pin is the sha256 that the bytes must have; empty means any. If the file is
// gone but the pinned module is stored, the stored one is used, so that a
// server starts again without the place that its modules came from.
func (s *Store) LoadSource(ref, pin, baseDir string, limit int64) (digest string, wasm []byte, err error) {
	if pin = strings.TrimPrefix(pin, "sha256:"); pin != "" {
		if err := CheckDigest(pin); err != nil {
			return "", nil, fmt.Errorf("pin of %s: %w", ref, err)
		}
	}
	scheme, rest := splitScheme(ref)
	switch scheme {
	case "file":
		wasm, err = s.fromFile(filePath(rest, baseDir), pin, limit)
	case "sha256":
		wasm, err = s.Get(rest)
		if err == nil && int64(len(wasm)) > limit {
			err = fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrTooBig, len(wasm), limit)
		}
	case "https", "oci", "upload", "peer":
		return "", nil, fmt.Errorf("module source %s: fetching by %s comes with a later release; fetch the file and write file:PATH", ref, scheme)
	default:
		return "", nil, fmt.Errorf("module source %s: unknown scheme %q; write file:PATH or sha256:HEX", ref, scheme)
	}
	if err != nil {
		return "", nil, fmt.Errorf("module source %s: %w", ref, err)
	}
	digest = Digest(wasm)
	if pin != "" && digest != pin {
		return "", nil, fmt.Errorf("module source %s: %w: its sha256 is %s, pinned is %s", ref, ErrPin, digest, pin)
	}
	return digest, wasm, nil
}

// splitScheme takes a reference apart. One letter is a drive, not a scheme.
func splitScheme(ref string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(ref, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\.`) {
		return "file", ref
	}
	return scheme, rest
}

// filePath also takes the form file:///absolute/path.
func filePath(p, baseDir string) string {
	if after, ok := strings.CutPrefix(p, "///"); ok {
		p = "/" + after
	}
	p = filepath.FromSlash(p)
	if !filepath.IsAbs(p) {
		p = filepath.Join(baseDir, p)
	}
	return p
}

func (s *Store) fromFile(path, pin string, limit int64) ([]byte, error) {
	wasm, err := readFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		if pin != "" {
			if stored, getErr := s.Get(pin); getErr == nil {
				return stored, nil
			}
		}
		return nil, fmt.Errorf("%w: there is no file %s", ErrNotFound, path)
	}
	if err != nil {
		return nil, err
	}
	if pin != "" && Digest(wasm) != pin {
		return wasm, nil // the caller says so; what is not wanted is not stored
	}
	if _, err := s.Put(bytes.NewReader(wasm), limit); err != nil {
		return nil, err
	}
	return wasm, nil
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) (b []byte, err error) {
	// A pipe or a device could block for ever when it is opened.
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err = io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s has more than %d bytes", ErrTooBig, path, limit)
	}
	return b, nil
}
