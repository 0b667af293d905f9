package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/tetratelabs/wazero"
	wasi "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wasmjob/wasmjob/host/job"
)

const (
	// maxTransfer bounds one piece of reading or writing, after which the run's
	// context is looked at; a guest gets what was done and asks again.
	maxTransfer = 16 << 20
	// maxPath is longer than any path that an operating system takes.
	maxPath = 4096
	// maxListedEntries bounds the entries of directories that the engine holds for a
	// guest at a time, as that memory is not the guest's.
	maxListedEntries = 1 << 18
)

// What a guest makes is made like by any other program of the server's user;
// its umask says who else may read it.
const (
	newFileMode = 0o666
	newDirMode  = 0o777
)

// fileTable is what the directories of one instance have in common. The instance
// uses it from one goroutine.
type fileTable struct {
	ctx           context.Context //nolint:containedctx // of the run in progress; wasi.FS has no place for it
	limit         int             // files open at a time
	open          map[*openFile]struct{}
	listedEntries int // entries of directories that the engine may hold
}

// openGrantedDirs opens the directories of a grant for as long as ctx lasts, each at
// or below one of those that may be granted, and apart from what is private. The returned function closes them,
// with every file that the guest left open; files bounds how many it may have.
func openGrantedDirs(ctx context.Context, dirs []job.Dir, e *Engine, files int) (wazero.FSConfig, func(), error) {
	config := wazero.NewFSConfig()
	d := &fileTable{ctx: ctx, limit: files, open: map[*openFile]struct{}{}}
	var roots []*os.Root
	closeAll := func() {
		for f := range d.open {
			_ = f.f.Close() // nothing is left to be told of it
		}
		clear(d.open)
		for _, root := range roots {
			_ = root.Close()
		}
	}
	for _, dir := range dirs {
		if !path.IsAbs(dir.Guest) || path.Clean(dir.Guest) != dir.Guest {
			closeAll()
			return nil, nil, fmt.Errorf("directory %q of the guest is not a clean absolute path", dir.Guest)
		}
		root, err := openDir(dir, e.dirs)
		if err == nil {
			roots = append(roots, root)
			err = e.guard.Check(root, dir.Write)
		}
		if err != nil {
			closeAll()
			return nil, nil, fmt.Errorf("open granted directory %s: %w", dir.Host, err)
		}
		more, ok := config.(sysfs.FSConfig)
		if !ok { // never for what the engine made
			closeAll()
			return nil, nil, errors.New("the engine takes no directories")
		}
		config = more.WithSysFSMount(&rootDir{fileTable: d, root: root, write: dir.Write}, dir.Guest)
	}
	return config, closeAll, nil
}

// rootDir shows one directory to a guest. os.Root resolves every name, so neither
// ".." nor a link leads out of it, also when a link is put there in between.
// Only regular files and directories open, as a pipe or a device could block
// for ever or do something when opened. Links can be neither made nor moved:
// another program might follow them from where it can go further.
type rootDir struct {
	wasi.UnimplementedFS
	*fileTable
	root  *os.Root
	write bool
}

// localName turns a name of the engine into one for os.Root. The second value says
// that it must be a directory, as it ends in a slash.
func (j *rootDir) localName(name string) (string, bool, wasi.Errno) {
	if j.ctx.Err() != nil {
		return "", false, wasi.EINTR
	}
	if len(name) > maxPath {
		return "", false, wasi.ENAMETOOLONG
	}
	dir := strings.HasSuffix(name, "/")
	name = path.Clean(strings.TrimLeft(name, "/"))
	if !fs.ValidPath(name) {
		return "", false, wasi.EPERM
	}
	return name, dir, 0
}

// localNameToWrite is local for what changes something.
func (j *rootDir) localNameToWrite(name string) (string, bool, wasi.Errno) {
	if !j.write {
		return "", false, wasi.EROFS
	}
	return j.localName(name)
}

// OpenFile implements wasi.FS.
func (j *rootDir) OpenFile(name string, flag wasi.Oflag, _ fs.FileMode) (wasi.File, wasi.Errno) {
	name, dir, errno := j.localName(name)
	if errno != 0 {
		return nil, errno
	}
	const writing = wasi.O_RDWR | wasi.O_WRONLY | wasi.O_CREAT | wasi.O_TRUNC | wasi.O_APPEND
	dir = dir || flag&wasi.O_DIRECTORY != 0
	switch {
	case len(j.open) >= j.limit:
		return nil, wasi.EAGAIN // the list of the engine has nothing closer
	case flag&writing != 0 && !j.write:
		return nil, wasi.EROFS
	case flag&writing != 0 && dir:
		return nil, wasi.EISDIR
	}
	// First by name, as opening alone can have an effect on a device.
	info, err := j.root.Lstat(name)
	switch {
	case err != nil && !(flag&wasi.O_CREAT != 0 && errors.Is(err, fs.ErrNotExist)):
		return nil, errnoOf(err)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		if flag&wasi.O_NOFOLLOW != 0 {
			return nil, wasi.ELOOP
		}
		if info, err = j.root.Stat(name); err == nil && !isFileOrDir(info) {
			return nil, wasi.EPERM
		}
	case err == nil && !isFileOrDir(info):
		return nil, wasi.EPERM
	}
	f, err := j.root.OpenFile(name, hostFlag(flag), newFileMode)
	if err != nil {
		return nil, errnoOf(err)
	}
	// Then by descriptor, as the name may have been given to something else.
	opened := &openFile{f: f, root: j, name: name, write: flag&writing != 0, append: flag&wasi.O_APPEND != 0}
	if errno := opened.checkOpened(dir, flag&wasi.O_TRUNC != 0); errno != 0 {
		_ = f.Close()
		return nil, errno
	}
	j.open[opened] = struct{}{}
	return opened, 0
}

// hostFlag translates what a guest may ask for. What is there is cut when it
// is known to be a file.
func hostFlag(flag wasi.Oflag) int {
	out := os.O_RDONLY
	switch {
	case flag&wasi.O_RDWR != 0:
		out = os.O_RDWR
	case flag&wasi.O_WRONLY != 0:
		out = os.O_WRONLY
	case flag&(wasi.O_TRUNC|wasi.O_APPEND) != 0:
		out = os.O_RDWR
	}
	for theirs, ours := range map[wasi.Oflag]int{
		wasi.O_APPEND: os.O_APPEND, wasi.O_CREAT: os.O_CREATE, wasi.O_EXCL: os.O_EXCL, wasi.O_SYNC: os.O_SYNC, wasi.O_DSYNC: os.O_SYNC,
	} {
		if flag&theirs != 0 {
			out |= ours
		}
	}
	return out | openNonblock
}

func isFileOrDir(info fs.FileInfo) bool { return info.Mode().IsRegular() || info.IsDir() }

// Stat implements wasi.FS.
func (j *rootDir) Stat(name string) (sys.Stat_t, wasi.Errno) { return j.stat(name, j.root.Stat) }

// Lstat implements wasi.FS.
func (j *rootDir) Lstat(name string) (sys.Stat_t, wasi.Errno) { return j.stat(name, j.root.Lstat) }

func (j *rootDir) stat(name string, of func(string) (fs.FileInfo, error)) (sys.Stat_t, wasi.Errno) {
	name, dir, errno := j.localName(name)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	info, err := of(name)
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	if dir && info.Mode().IsRegular() {
		return sys.Stat_t{}, wasi.ENOTDIR
	}
	return guestStat(info), 0
}

// guestStat is what a guest learns of a file. Pipes and sockets, for which WASI
// has no word, are shown as devices, which are as little to be opened: guests
// in Go give a whole directory up if something in it has no type.
func guestStat(info fs.FileInfo) sys.Stat_t {
	st := sys.NewStat_t(info)
	st.Mode = guestMode(st.Mode)
	return st
}

func guestMode(mode fs.FileMode) fs.FileMode {
	if mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0 {
		return mode.Perm() | fs.ModeDevice | fs.ModeCharDevice
	}
	return mode
}

// Mkdir implements wasi.FS.
func (j *rootDir) Mkdir(name string, _ fs.FileMode) wasi.Errno {
	name, _, errno := j.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	return errnoOf(j.root.Mkdir(name, newDirMode))
}

// Rmdir implements wasi.FS.
func (j *rootDir) Rmdir(name string) wasi.Errno {
	return j.remove(name, true)
}

// Unlink implements wasi.FS.
func (j *rootDir) Unlink(name string) wasi.Errno {
	return j.remove(name, false)
}

func (j *rootDir) remove(name string, dir bool) wasi.Errno {
	name, slash, errno := j.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	if name == "." {
		return wasi.EINVAL
	}
	info, err := j.root.Lstat(name)
	switch {
	case err != nil:
		return errnoOf(err)
	case info.IsDir() && !dir:
		return wasi.EISDIR
	case !info.IsDir() && (dir || slash):
		return wasi.ENOTDIR
	}
	return errnoOf(j.root.Remove(name))
}

// Rename implements wasi.FS. From one granted directory to another the engine
// does not ask for it.
func (j *rootDir) Rename(from, to string) wasi.Errno {
	from, slashFrom, errno := j.localNameToWrite(from)
	if errno != 0 {
		return errno
	}
	to, slashTo, errno := j.localNameToWrite(to)
	if errno != 0 {
		return errno
	}
	info, err := j.root.Lstat(from)
	switch {
	case err != nil:
		return errnoOf(err)
	case from == "." || to == ".":
		return wasi.EINVAL
	case info.Mode()&fs.ModeSymlink != 0:
		return wasi.EPERM
	case (slashFrom || slashTo) && !info.IsDir():
		return wasi.ENOTDIR
	}
	return errnoOf(j.root.Rename(from, to))
}

// Link implements wasi.FS.
func (*rootDir) Link(_, _ string) wasi.Errno { return wasi.EPERM }

// Symlink implements wasi.FS.
func (*rootDir) Symlink(_, _ string) wasi.Errno { return wasi.EPERM }

// Utimens implements wasi.FS.
func (j *rootDir) Utimens(name string, atim, mtim int64) wasi.Errno {
	name, _, errno := j.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	moment := func(ns int64) time.Time {
		if ns == wasi.UTIME_OMIT {
			return time.Time{} // leaves it as it is
		}
		return time.Unix(0, ns)
	}
	return errnoOf(j.root.Chtimes(name, moment(atim), moment(mtim)))
}

// errnoOf turns an error of the host into one of the few that tell a guest
// what it may know; a link out of the directory looks like missing permission.
func errnoOf(err error) wasi.Errno {
	if err == nil {
		return 0
	}
	// To Go a directory that is not empty also exists, so it comes first.
	for _, known := range [...]struct {
		err   error
		errno wasi.Errno
	}{
		{syscall.ENOTEMPTY, wasi.ENOTEMPTY}, {fs.ErrExist, wasi.EEXIST}, {fs.ErrNotExist, wasi.ENOENT}, {fs.ErrClosed, wasi.EBADF},
		{syscall.ENOTDIR, wasi.ENOTDIR}, {syscall.EISDIR, wasi.EISDIR}, {syscall.ELOOP, wasi.ELOOP},
		{syscall.ENAMETOOLONG, wasi.ENAMETOOLONG}, {syscall.EINVAL, wasi.EINVAL}, {syscall.EROFS, wasi.EROFS},
		{syscall.EIO, wasi.EIO}, {syscall.ENOSPC, wasi.EIO}, {syscall.EFBIG, wasi.EIO}, {syscall.EMFILE, wasi.EAGAIN},
	} {
		if errors.Is(err, known.err) {
			return known.errno
		}
	}
	return wasi.EPERM
}
