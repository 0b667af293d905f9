package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
)

// The engine has no API to ask whether its cache contains a module. So an empty file
// marks each metered module that was compiled with this version of the engine: such a
// module is only loaded, which takes little memory and no turn in the queue.

// compiledMark returns the path of that file.
func (e *Engine) compiledMark(metered []byte) string {
	return filepath.Join(compiledMarkDir(e.dir), e.trials.setup.Engine+"-"+digestOf(metered))
}

func compiledMarkDir(cache string) string { return filepath.Join(cache, "known") }

// compiledBefore reports whether the cache contains the code of a metered module.
func (e *Engine) compiledBefore(metered []byte) bool {
	if e.dir == "" {
		return false
	}
	_, err := os.Stat(e.compiledMark(metered))
	return err == nil
}

// markCompiled records that the cache contains the code of a metered module.
func (e *Engine) markCompiled(metered []byte) error {
	err := os.MkdirAll(compiledMarkDir(e.dir), 0o700)
	if err == nil {
		err = os.WriteFile(e.compiledMark(metered), nil, 0o600)
	}
	if err != nil {
		return fmt.Errorf("mark a compiled module: %w", err)
	}
	return nil
}

// forgetCompiled removes all marks, after files of the cache were lost.
func forgetCompiled(cache string) error {
	if err := os.RemoveAll(compiledMarkDir(cache)); err != nil {
		return fmt.Errorf("remove the marks of compiled modules: %w", err)
	}
	return nil
}
