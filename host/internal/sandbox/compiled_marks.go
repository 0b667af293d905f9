package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The engine does not tell whether its cache has a module. So there is an empty
// file for each metered module that was compiled under this version of the
// engine: such a module is only read, which takes little memory and no turn.

// compiledMark is that file.
func (e *Engine) compiledMark(metered []byte) string {
	return filepath.Join(compiledMarkDir(e.dir), e.trials.setup.Engine+"-"+digestOf(metered))
}

func compiledMarkDir(cache string) string { return filepath.Join(cache, "known") }

// compiledBefore tells whether the cache has the code of a metered module.
func (e *Engine) compiledBefore(metered []byte) bool {
	if e.dir == "" {
		return false
	}
	_, err := os.Stat(e.compiledMark(metered))
	return err == nil
}

// markCompiled says that the cache has the code of a metered module.
func (e *Engine) markCompiled(metered []byte) error {
	err := os.MkdirAll(compiledMarkDir(e.dir), 0o700)
	if err == nil {
		err = os.WriteFile(e.compiledMark(metered), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note a compiled module: %w", err)
	}
	return nil
}

// forgetCompiled is for a cache that has lost files.
func forgetCompiled(cache string) error {
	if err := os.RemoveAll(compiledMarkDir(cache)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget compiled modules: %w", err)
	}
	return nil
}
