package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
)

// openDir opens a granted directory. If grantable is not nil, openDir starts at one
// of these directories and follows no links from there. Otherwise a user who can
// write above the directory could redirect the job, for example to the server's own
// compiled code.
func openDir(dir job.Dir, grantable []job.Dir) (*os.Root, error) {
	top, rest := dir.Host, "."
	if grantable != nil {
		top = "" // becomes the deepest grantable directory that includes dir
		for _, m := range grantable {
			rel, err := filepath.Rel(m.Host, dir.Host)
			if err == nil && filepath.IsLocal(rel) && (m.Write || !dir.Write) && len(m.Host) > len(top) {
				top, rest = m.Host, rel
			}
		}
		if top == "" {
			return nil, errors.New("the server's grants do not include it")
		}
	}
	root, err := os.OpenRoot(top)
	for name := range strings.SplitSeq(rest, string(filepath.Separator)) {
		if err != nil {
			return nil, err
		}
		above := root
		root, err = openSubdir(above, name)
		_ = above.Close()
	}
	if err != nil {
		return nil, err
	}
	return root, nil
}

// openSubdir opens a directory in another one, unless it is a link.
func openSubdir(above *os.Root, name string) (*os.Root, error) {
	named, err := above.Lstat(name)
	if err != nil {
		return nil, err
	}
	root, err := above.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	// OpenRoot follows a link, also one that has just replaced the directory.
	opened, err := root.Stat(".")
	if err == nil && !os.SameFile(named, opened) {
		err = fmt.Errorf("%s is a link; name its target in [host.allow]", name)
	}
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return root, nil
}
