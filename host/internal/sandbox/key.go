package sandbox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

const (
	// keySuffix makes the name of the key of that of the cache, so that it lies
	// beside it: what is copied into a cache brings no key along.
	keySuffix = ".key"
	keyBytes  = 32
)

// cacheKey reads the key by which the files of a cache are sealed; nil if there
// is none that only this user can know.
func cacheKey(dir string) []byte {
	info, err := os.Lstat(dir + keySuffix)
	private := err == nil && info.Mode().IsRegular() && info.Size() == keyBytes && !ownedByOther(info) &&
		(runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0) // its file modes say nothing
	if !private {
		return nil
	}
	key, err := os.ReadFile(dir + keySuffix)
	if err != nil || len(key) != keyBytes {
		return nil
	}
	return key
}

// newKey makes another key for a cache. What older ones have sealed is of no use
// any more.
func newKey(dir string) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	f, err := os.CreateTemp(filepath.Dir(dir), filepath.Base(dir)+keySuffix+".*")
	if err != nil {
		return nil, fmt.Errorf("make the key of compiled modules: %w", err)
	}
	_, err = f.Write(key) // CreateTemp lets nobody else read
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), dir+keySuffix)
	}
	if err != nil {
		if rmErr := os.Remove(f.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		return nil, fmt.Errorf("make the key of compiled modules: %w", err)
	}
	return key, nil
}
