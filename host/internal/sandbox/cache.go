package sandbox

import (
	"errors"
	"fmt"
	"hash/crc32"
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
// it finds there: one flipped bit ends the process, at each start anew. So each
// file gets a seal, a checksum over all of it, and what does not match its seal
// is removed before the engine may look.
const sealSuffix = ".seal"

// openCache makes the directory of compiled code if need be, and removes what
// is damaged in it.
func openCache(dir string) (wazero.CompilationCache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the cache of compiled modules: %w", err)
	}
	if err := onlyOurs(dir); err != nil {
		return nil, err
	}
	files, err := cached(dir)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || sealed(f) {
			continue
		}
		if err := forgetKnown(dir); err != nil {
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

// onlyOurs refuses a cache in which others may write: what lies there is run
// as it is.
func onlyOurs(dir string) error {
	if runtime.GOOS == "windows" { // its file modes say nothing
		return nil
	}
	inner, err := filepath.Glob(filepath.Join(dir, "wazero-*"))
	if err != nil {
		return fmt.Errorf("look for compiled modules: %w", err)
	}
	files, err := cached(dir)
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
		if foreign(info) || info.Mode().Perm()&0o022 != 0 {
			return fmt.Errorf("others may write to %s in the cache of compiled modules, which holds code that is run unseen; remove %s", f, dir)
		}
	}
	return nil
}

// cached are all files of the cache.
func cached(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil {
		return nil, fmt.Errorf("look for compiled modules: %w", err)
	}
	return files, nil
}

// checksum is what the seal of a file says.
func checksum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	hash := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	n, err := io.Copy(hash, f)
	return fmt.Sprintf("%08x %d\n", hash.Sum32(), n), err
}

func sealed(file string) bool {
	seal, err := os.ReadFile(file + sealSuffix)
	if err != nil {
		return false
	}
	sum, err := checksum(file)
	return err == nil && sum == string(seal)
}

// sealNew seals what the engine has added to the cache. Without a seal a file
// is not used again, which costs time but does no harm.
func sealNew(dir string) error {
	files, err := cached(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasSuffix(f, sealSuffix) || strings.HasSuffix(f, ".tmp") {
			continue
		}
		if _, err := os.Lstat(f + sealSuffix); err == nil {
			continue
		}
		sum, err := checksum(f)
		if err == nil {
			err = os.WriteFile(f+sealSuffix, []byte(sum), 0o600)
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
	files, err := cached(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a damaged compiled module: %w", err)
		}
	}
	return forgetKnown(dir)
}
