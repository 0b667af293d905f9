package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/tetratelabs/wazero"

	"github.com/wasmjob/wasmjob/host/job"
)

// maxOpen bounds the files that one run holds open at a time, so that a guest
// cannot use up the descriptors of the host.
const maxOpen = 128

// maxRead bounds one piece of reading, after which the run's context is looked
// at; a guest gets what was read and asks again.
const maxRead = 16 << 20

// grantedDirs opens the directories of a grant for as long as ctx lasts. The
// returned function closes them, with every file that the guest left open.
func grantedDirs(ctx context.Context, dirs []job.Dir) (wazero.FSConfig, func(), error) {
	config := wazero.NewFSConfig()
	var roots []*jail
	closeAll := func() {
		for _, j := range roots {
			j.close()
		}
	}
	for _, d := range dirs {
		if d.Write {
			closeAll()
			return nil, nil, fmt.Errorf("directory %s is granted for writing, which this release cannot do; grant it read-only", d.Guest)
		}
		if !path.IsAbs(d.Guest) || path.Clean(d.Guest) != d.Guest {
			closeAll()
			return nil, nil, fmt.Errorf("directory %q of the guest is not a clean absolute path", d.Guest)
		}
		root, err := os.OpenRoot(d.Host)
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("open granted directory: %w", err)
		}
		j := &jail{ctx: ctx, root: root, open: map[*jailFile]struct{}{}}
		roots = append(roots, j)
		config = config.WithFSMount(j, d.Guest)
	}
	return config, closeAll, nil
}

// jail shows one directory read-only. os.Root resolves every name, so neither
// ".." nor a link leads out of it; only regular files and directories open,
// as a pipe or a device could block for ever or do something when opened.
// One run uses it from one goroutine.
type jail struct {
	ctx  context.Context //nolint:containedctx // of the run; fs.FS has no place for it
	root *os.Root
	open map[*jailFile]struct{}
}

// Open implements fs.FS.
func (j *jail) Open(name string) (fs.File, error) {
	refuse := func(err error) (fs.File, error) { return nil, &fs.PathError{Op: "open", Path: name, Err: err} }
	if j.ctx.Err() != nil {
		return refuse(syscall.EINTR)
	}
	if !fs.ValidPath(name) {
		return refuse(fs.ErrInvalid)
	}
	if len(j.open) >= maxOpen {
		return refuse(syscall.EMFILE)
	}
	// First by name, as opening alone can have an effect on a device.
	if info, err := j.root.Stat(name); err != nil {
		return refuse(hidden(err))
	} else if !plain(info) {
		return refuse(fs.ErrPermission)
	}
	f, err := j.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return refuse(hidden(err))
	}
	// Then by descriptor, as the name may have been given to something else.
	if info, err := f.Stat(); err != nil || !plain(info) {
		_ = f.Close()
		return refuse(fs.ErrPermission)
	}
	jf := &jailFile{file: f, jail: j}
	j.open[jf] = struct{}{}
	return jf, nil
}

// hidden turns an error of the host into one that tells the guest no path of
// the host; links out of the directory look like missing permission.
func hidden(err error) error {
	for _, known := range []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.EMFILE, syscall.ENAMETOOLONG} {
		if errors.Is(err, known) {
			return known
		}
	}
	return fs.ErrPermission
}

func plain(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

func (j *jail) close() {
	for f := range j.open {
		_ = f.file.Close()
	}
	clear(j.open)
	_ = j.root.Close()
}

// jailFile has the methods for reading alone; the engine would otherwise find
// those of *os.File that write, change modes or give out the descriptor.
type jailFile struct {
	file *os.File
	jail *jail
}

func (f *jailFile) Stat() (fs.FileInfo, error)             { return f.file.Stat() }
func (f *jailFile) Seek(at int64, from int) (int64, error) { return f.file.Seek(at, from) }

// Read implements io.Reader. Like ReadAt it fails when the run is over: one
// call of a guest may ask for more than could be read in a day.
func (f *jailFile) Read(p []byte) (int, error) {
	if f.jail.ctx.Err() != nil {
		return 0, syscall.EINTR
	}
	return f.file.Read(p[:min(len(p), maxRead)])
}

// ReadAt implements io.ReaderAt.
func (f *jailFile) ReadAt(p []byte, at int64) (int, error) {
	if f.jail.ctx.Err() != nil {
		return 0, syscall.EINTR
	}
	return f.file.ReadAt(p[:min(len(p), maxRead)], at)
}

func (f *jailFile) Close() error {
	delete(f.jail.open, f)
	return f.file.Close()
}

// ReadDir implements fs.ReadDirFile.
func (f *jailFile) ReadDir(n int) ([]fs.DirEntry, error) {
	entries, err := f.file.ReadDir(n)
	for i, e := range entries {
		if e.Type()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0 {
			entries[i] = special{e}
		}
	}
	return entries, err
}

// special is an entry for which WASI has no word. Told that it is unknown,
// guests in Go ask what it is, are refused, and give the whole directory up;
// so it is shown as a device, which is as little to be opened.
type special struct{ fs.DirEntry }

// Type is part of fs.DirEntry.
func (special) Type() fs.FileMode { return fs.ModeDevice | fs.ModeCharDevice }
