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
	// keySuffix is appended to the path of the cache. The key is not inside the
	// cache, so that files copied into a cache cannot bring their own key.
	keySuffix = ".key"
	keyBytes  = 32
)

// cacheKey returns the key that seals the files of a cache, or nil if there is none
// that only this user can read.
func cacheKey(dir string) []byte {
	info, err := os.Lstat(dir + keySuffix)
	private := err == nil && info.Mode().IsRegular() && info.Size() == keyBytes && !ownedByOther(info) &&
		(runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0) // file modes have no meaning there
	if !private {
		return nil
	}
	key, err := os.ReadFile(dir + keySuffix)
	if err != nil || len(key) != keyBytes {
		return nil
	}
	return key
}

// newKey creates a new key for a cache. Seals made with older keys become invalid.
func newKey(dir string) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	f, err := os.CreateTemp(filepath.Dir(dir), filepath.Base(dir)+keySuffix+".*")
	if err != nil {
		return nil, fmt.Errorf("create the key of compiled modules: %w", err)
	}
	_, err = f.Write(key) // CreateTemp uses mode 0600
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), dir+keySuffix)
	}
	if err != nil {
		if rmErr := os.Remove(f.Name()); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
			err = errors.Join(err, rmErr)
		}
		return nil, fmt.Errorf("create the key of compiled modules: %w", err)
	}
	return key, nil
}
