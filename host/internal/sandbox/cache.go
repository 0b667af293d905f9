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

// The engine verifies a checksum of the machine code in a cached file, but not of the
// table of addresses next to it, and it allocates whatever counts it finds there: one
// flipped bit ends the process at each start. It also executes what it finds,
// whoever put it there. Therefore each file gets a seal: an HMAC over its name and
// content with a key that is stored elsewhere (key.go). Files that do not match
// their seal are removed before the engine reads them.
const sealSuffix = ".seal"

// maxCacheBytes is how much compiled code a server keeps from one start to the next: a
// module may become half a gigabyte of it, and nothing says which modules are gone.
const maxCacheBytes = 8 << 30

// openCache creates the directory of compiled code if necessary, and removes damaged
// files from it, and the oldest beyond maxCacheBytes.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create the cache of compiled modules: %w", err)
	}
	if err := checkPermissions(dir); err != nil {
		return nil, err
	}
	key := cacheKey(dir)
	if key == nil { // no seal can be verified, so no file may be used
		if err := emptyCache(dir); err != nil {
			return nil, err
		}
		var err error
		if key, err = newKey(dir); err != nil {
			return nil, err
		}
	}
	if err := dropOldest(dir, maxCacheBytes); err != nil {
		return nil, err
	}
	files, err := cachedFiles(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || hasValidSeal(f, key) {
			continue
		}
		if err := dropCompiled(dir, f); err != nil {
			return nil, err
		}
	}
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open the cache of compiled modules: %w", err)
	}
	return cache, nil
}

// dropCompiled removes a file of compiled code and its seal.
func dropCompiled(dir, file string) error {
	if err := forgetCompiled(dir); err != nil { // one of the marks stands for this file
		return err
	}
	for _, gone := range []string{file, file + sealSuffix} {
		if err := os.Remove(gone); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a compiled module: %w", err)
		}
	}
	return nil
}

// dropOldest removes the oldest compiled code until the rest has at most that many bytes.
func dropOldest(dir string, most int64) error {
	names, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	type file struct {
		name string
		info fs.FileInfo
	}
	var files []file
	var total int64
	for _, name := range names {
		info, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("check the size of the compiled modules: %w", err)
		}
		if total += info.Size(); !strings.HasSuffix(name, sealSuffix) {
			files = append(files, file{name, info})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return a.info.ModTime().Compare(b.info.ModTime()) })
	for _, f := range files {
		if total <= most {
			break
		}
		if err := dropCompiled(dir, f.name); err != nil {
			return err
		}
		total -= f.info.Size()
	}
	return nil
}

// checkPermissions refuses a cache in which other users may write, because its code
// is executed.
func checkPermissions(dir string) error {
	if runtime.GOOS == "windows" { // file modes have no meaning there
		return nil
	}
	inner, err := glob(dir, "wazero-*")
	if err != nil {
		return fmt.Errorf("list compiled modules: %w", err)
	}
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	for _, f := range slices.Concat([]string{dir}, inner, files) {
		info, err := os.Lstat(f) // the mode of a link allows writing to everyone, so links are refused
		if f == dir {            // but the directory itself may be a link
			info, err = os.Stat(f)
		}
		if err != nil {
			return fmt.Errorf("check the cache of compiled modules: %w", err)
		}
		if ownedByOther(info) || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("other users may write to %s in the cache of compiled modules, whose code is executed; remove %s", f, dir)
		}
	}
	return nil
}

// glob returns the paths of the files in dir whose names match pattern. dir itself
// is not a pattern.
func glob(dir, pattern string) ([]string, error) {
	names, err := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range names {
		names[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return names, err
}

// cachedFiles returns the files of compiled code, and their seals. The engine keeps them
// in one subdirectory for each of its versions.
func cachedFiles(dir string) ([]string, error) {
	files, err := glob(dir, "wazero-*/*")
	if err != nil {
		return nil, fmt.Errorf("list compiled modules: %w", err)
	}
	return files, nil
}

// sealOf returns the seal of a file. It covers the name, so that one sealed file
// cannot replace another.
func sealOf(file string, key []byte) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read from
	mac := hmac.New(sha256.New, key)
	// The directory is named after the engine's version. Names have no zero byte.
	mac.Write([]byte(filepath.Base(filepath.Dir(file)) + "\x00" + filepath.Base(file) + "\x00"))
	_, err = io.Copy(mac, f)
	return hex.EncodeToString(mac.Sum(nil)) + "\n", err
}

// hasValidSeal reports whether the content of a file is what this host has sealed.
func hasValidSeal(file string, key []byte) bool {
	seal, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		return false
	}
	want, err := sealOf(file, key)
	return err == nil && hmac.Equal([]byte(want), seal)
}

// sealNewFiles seals files that the engine has added to the cache. A file without a
// seal is not used again, which only costs time.
func sealNewFiles(dir string) error {
	files, err := cachedFiles(dir)
	if err != nil {
		return err
	}
	key := cacheKey(dir)
	if key == nil { // removed since the start; the next start creates another
		return fmt.Errorf("seal compiled modules: there is no key at %s", dir+keySuffix)
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || strings.HasSuffix(f, ".tmp") { // the engine is still writing a .tmp
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

// emptyCache removes the compiled code but keeps the directories, which the engine
// expects to exist.
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
