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

// knownFile is that file.
func (e *Engine) knownFile(metered []byte) string {
	return filepath.Join(knownDir(e.dir), e.trials.setup.Engine+"-"+digestOf(metered))
}

func knownDir(cache string) string { return filepath.Join(cache, "known") }

// compiledBefore tells whether the cache has the code of a metered module.
func (e *Engine) compiledBefore(metered []byte) bool {
	if e.dir == "" {
		return false
	}
	_, err := os.Stat(e.knownFile(metered))
	return err == nil
}

// note says that the cache has the code of a metered module.
func (e *Engine) note(metered []byte) error {
	err := os.MkdirAll(knownDir(e.dir), 0o700)
	if err == nil {
		err = os.WriteFile(e.knownFile(metered), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("note a compiled module: %w", err)
	}
	return nil
}

// forgetKnown is for a cache that has lost files.
func forgetKnown(cache string) error {
	if err := os.RemoveAll(knownDir(cache)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget compiled modules: %w", err)
	}
	return nil
}
