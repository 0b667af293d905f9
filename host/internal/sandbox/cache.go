package sandbox

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
)

// The engine holds the machine code in a cached file against a checksum, but
// not the table of addresses beside it, and it makes room for whatever counts
// it finds there: one flipped bit ends the process, at each start anew. And it
// executes what it finds, also what somebody else has put there. So each file gets
// a seal, an HMAC over its name and all of it with a key that lies elsewhere (key.go),
// and what does not match its seal is removed before the engine may look.
const sealSuffix = ".seal"

// openCache makes the directory of compiled code if need be, and removes what
// is damaged in it.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of compiled modules: %w", err)
	}
	if err := checkPermissions(dir); err != nil {
		return nil, err
	}
	key := cacheKey(dir)
	if key == nil {
		if err := emptyCache(dir); err != nil {
			return nil, err
		}
		var err error
		if key, err = newKey(dir); err != nil {
			return nil, err
		}
	}
	files, err := cachedFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || hasValidSeal(f, key) {
			continue
		}
		if err := forgetCompiled(dir); err != nil {
			return nil, err
		}
		for _, gone := range []string{f, f + sealSuffix} {
			if err := os.Remove(gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("remove a damaged compiled module: %w", err)
			}
		}
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of compiled modules: %w", err)
	}
	return cache, nil
}

// checkPermissions refuses a cache in which others may write: what lies there is run
// as it is.
func checkPermissions(dir string) error {
	if runtime.GOOS == "windows" { // its file modes say nothing
		return nil
	}
	inner, err := glob(dir, "wazero-*")
	if err != nil {
		return fmt.Errorf("look for compiled modules: %w", err)
	}
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range slices.Concat([]string{dir}, inner, files) {
		info, err := os.Lstat(f) // everybody may write to a link
		if f == dir {
			info, err = os.Stat(f)
		}
		if err != nil {
			return fmt.Errorf("look at the cache of compiled modules: %w", err)
		}
		if ownedByOther(info) || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("others may write to %s in the cache of compiled modules, which holds code that is run unseen; remove %s", f, dir)
		}
	}
	return nil
}

// glob gives the paths of the files in a directory whose names match a pattern; the
// path of the directory is none.
func glob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, err
}

// cachedFiles are all files of the cache.
func cachedFiles(dir string) ([]string, error) {
	files, err := glob(dir, "wazero-*/*")
	if err != nil {
		return nil, fmt.Errorf("look for compiled modules: %w", err)
	}
	return files, nil
}

// sealOf is what the seal of a file says. The name is in it: one sealed file must
// not stand in for another.
func sealOf(file string, key []byte) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	mac := hmac.New(sha256.New, key)
	// The folder is named after the version of the engine. No name has a zero byte.
	mac.Write([]byte(filepath.Base(filepath.Dir(file)) + "\x00" + filepath.Base(file) + "\x00"))
	_, err = io.Copy(mac, f)
	return hex.EncodeToString(mac.Sum(nil)) + "\n", err
}

func hasValidSeal(file string, key []byte) bool {
	seal, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		return false
	}
	want, err := sealOf(file, key)
	return err == nil && hmac.Equal([]byte(want), seal)
}

// sealNewFiles seals what the engine has added to the cache. Without a seal a file
// is not used again, which costs time but does no harm.
func sealNewFiles(dir string) error {
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	key := cacheKey(dir)
	if key == nil { // gone since the start; the next one makes another
		return fmt.Errorf("seal compiled modules: there is no key at %s", dir+keySuffix)
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || strings.HasSuffix(f, ".tmp") {
			continue
		}
		if _, err := os.Lstat(f + sealSuffix); err == nil {
			continue
		}
		seal, err := sealOf(f, key)
		if err == nil {
			err = os.WriteFile(f+sealSuffix, []byte(seal), 0o600)
		}
		if err != nil {
			return fmt.Errorf("seal a compiled module: %w", err)
		}
	}
	return nil
}

// emptyCache removes the compiled code and leaves the directories, which the
// runtime expects to be there.
func emptyCache(dir string) error {
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a damaged compiled module: %w", err)
		}
	}
	return forgetCompiled(dir)
}
