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

	"github.com/wasmjob/wasmjob/host/internal/signature"
)

// LoadSource loads the module that a configuration names, at most limit bytes,
// stores it, and returns its digest and bytes. A reference is one of
//
//	file:PATH     a file, relative to baseDir; also written as PATH alone
//	sha256:HEX    a module that is already in the store
//
// The signature of a file is in PATH.minisig. pin is the SHA-256 that the bytes must have, or
// "" for any. If the file is missing but the pinned module is stored, LoadSource returns the
// stored module, so that a server can restart without the source of its modules.
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
		return "", nil, fmt.Errorf("module source %s: scheme %q is not supported yet; download the module and write file:PATH", ref, scheme)
	default:
		return "", nil, fmt.Errorf("module source %s: unknown scheme %q; write file:PATH or sha256:HEX", ref, scheme)
	}
	if err != nil {
		return "", nil, fmt.Errorf("module source %s: %w", ref, err)
	}
	digest = Digest(wasm)
	if pin != "" && digest != pin {
		return "", nil, fmt.Errorf("module source %s: %w: its sha256 is %s, the pin is %s", ref, ErrPin, digest, pin)
	}
	return digest, wasm, nil
}

// splitScheme divides a reference at the scheme. A single letter is a Windows drive.
func splitScheme(ref string) (scheme, rest string) {
	scheme, rest, ok := strings.Cut(ref, ":")
	if !ok || len(scheme) < 2 || strings.ContainsAny(scheme, `/\.`) {
		return "file", ref
	}
	return scheme, rest
}

// filePath converts the path of a reference, which may be written
// file:///absolute/path.
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

// fromFile reads a module and its signature from files, and stores them. A file that does
// not have the pinned digest is not stored.
func (s *Store) fromFile(path, pin string, limit int64) ([]byte, error) {
	wasm, err := readFile(path, limit)
	if errors.Is(err, fs.ErrNotExist) {
		if pin != "" {
			// That the stored module is not signed says more than that the file is missing.
			if stored, getErr := s.Get(pin); getErr == nil || errors.Is(getErr, signature.ErrUnsigned) {
				return stored, getErr
			}
		}
		return nil, fmt.Errorf("%w: there is no file %s", ErrNotFound, path)
	}
	if err != nil {
		return nil, err
	}
	if pin != "" && Digest(wasm) != pin {
		return wasm, nil // not stored; the caller reports the mismatch
	}
	sign, err := readSignature(path + signature.Suffix)
	if err != nil {
		return nil, err
	}
	if _, err := s.Put(bytes.NewReader(wasm), sign, limit); err != nil {
		return nil, err
	}
	return wasm, nil
}

// readFile returns the content of a regular file of at most limit bytes.
func readFile(path string, limit int64) (b []byte, err error) {
	// Opening a pipe or a device could block forever.
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
