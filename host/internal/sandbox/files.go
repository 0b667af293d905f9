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
)

const (
	// maxTransfer limits one read or write, since the run's context is checked
	// between them; the guest sees a short count and continues.
	maxTransfer = 16 << 20
	// maxPath is longer than any path that an operating system accepts.
	maxPath = 4096
	// maxListedEntries limits the directory entries that the engine holds for a
	// guest at a time, because they are not in the guest's memory.
	maxListedEntries = 1 << 18
	// bytesOfEntry is what the engine holds for one, besides its name.
	bytesOfEntry = 64
	// listedAtOnce is how many are read before their memory is counted.
	listedAtOnce = 1024
)

// Modes of new files and directories. The umask of the server's user applies.
const (
	newFileMode = 0o666
	newDirMode  = 0o777
)

// fileTable holds the open files of one instance, which uses it from one goroutine.
type fileTable struct {
	ctx           context.Context //nolint:containedctx // of the run in progress; wasi.FS passes none
	limit         int             // open files at a time
	open          map[*openFile]struct{}
	listedEntries int // directory entries that the engine may hold
	listedBytes   uint64
	claimedBytes  uint64                 // the most that listedBytes has been
	claim         func(more uint64) bool // takes memory for them until the instance ends
}

// openGrantedDirs opens the granted directories of an instance until ctx ends. Each must
// be at or below one that may be granted, and must not reach a private path. The returned
// function closes them and all files that the guest left open.
func openGrantedDirs(ctx context.Context, in *instance) (wazero.FSConfig, func(), error) {
	config, e := wazero.NewFSConfig(), in.compiled.engine
	d := &fileTable{ctx: ctx, limit: in.files, open: map[*openFile]struct{}{}, claim: in.claimListed}
	var roots []*os.Root
	closeAll := func() {
		for f := range d.open {
			_ = f.f.Close() // no one needs the error
		}
		clear(d.open)
		for _, root := range roots {
			_ = root.Close()
		}
	}
	for _, dir := range in.allow.Dirs {
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
		if !ok { // the engine's own type has the method
			closeAll()
			return nil, nil, errors.New("the engine does not support directories")
		}
		config = more.WithSysFSMount(&rootDir{fileTable: d, root: root, write: dir.Write}, dir.Guest)
	}
	return config, closeAll, nil
}

// hold counts directory entries and their bytes, and takes memory for them if necessary. It returns
// false if there is none.
func (d *fileTable) hold(entries int, bytes uint64) bool {
	if more := d.listedBytes + bytes; more > d.claimedBytes {
		if !d.claim(more - d.claimedBytes) {
			return false
		}
		d.claimedBytes = more
	}
	d.listedEntries += entries
	d.listedBytes += bytes
	return true
}

// rootDir gives a guest access to one directory. os.Root resolves all names, so
// neither ".." nor a link leads out of it, even if a link is created concurrently.
// Only regular files and directories can be opened, because a pipe or a device could
// block forever or have an effect when opened. Links cannot be created or renamed,
// because another program might follow them beyond the directory.
type rootDir struct {
	wasi.UnimplementedFS
	*fileTable
	root  *os.Root
	write bool
}

// localName converts a name from the engine to one for os.Root. The second result
// reports whether it must be a directory, because it ends in a slash.
func (d *rootDir) localName(name string) (string, bool, wasi.Errno) {
	if d.ctx.Err() != nil {
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

// localNameToWrite is localName for an operation that changes something.
func (d *rootDir) localNameToWrite(name string) (string, bool, wasi.Errno) {
	if !d.write {
		return "", false, wasi.EROFS
	}
	return d.localName(name)
}

// OpenFile opens or creates a regular file, or opens a directory. The mode that the guest
// asks for is ignored.
func (d *rootDir) OpenFile(name string, flag wasi.Oflag, _ fs.FileMode) (wasi.File, wasi.Errno) {
	name, dir, errno := d.localName(name)
	if errno != 0 {
		return nil, errno
	}
	const writing = wasi.O_RDWR | wasi.O_WRONLY | wasi.O_CREAT | wasi.O_TRUNC | wasi.O_APPEND
	dir = dir || flag&wasi.O_DIRECTORY != 0
	switch {
	case len(d.open) >= d.limit:
		return nil, wasi.EAGAIN // the engine has no closer error
	case flag&writing != 0 && !d.write:
		return nil, wasi.EROFS
	case flag&writing != 0 && dir:
		return nil, wasi.EISDIR
	}
	// Check the name first: opening a device can have an effect.
	info, err := d.root.Lstat(name)
	switch {
	case err != nil && !(flag&wasi.O_CREAT != 0 && errors.Is(err, fs.ErrNotExist)): // a missing file may be created
		return nil, errnoOf(err)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		if flag&wasi.O_NOFOLLOW != 0 {
			return nil, wasi.ELOOP
		}
		if info, err = d.root.Stat(name); err == nil && !isFileOrDir(info) {
			return nil, wasi.EPERM
		}
	case err == nil && !isFileOrDir(info):
		return nil, wasi.EPERM
	}
	f, err := d.root.OpenFile(name, hostFlag(flag), newFileMode)
	if err != nil {
		return nil, errnoOf(err)
	}
	// Check the descriptor as well: the name may refer to another file by now.
	opened := &openFile{f: f, root: d, name: name, write: flag&writing != 0, append: flag&wasi.O_APPEND != 0}
	if errno := opened.checkOpened(dir, flag&wasi.O_TRUNC != 0); errno != 0 {
		_ = f.Close()
		return nil, errno
	}
	d.open[opened] = struct{}{}
	return opened, 0
}

// hostFlag converts the flags of a guest. O_TRUNC is left out: the file is truncated
// after it is known to be a regular file.
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

func (d *rootDir) Stat(name string) (sys.Stat_t, wasi.Errno) { return d.stat(name, d.root.Stat) }

func (d *rootDir) Lstat(name string) (sys.Stat_t, wasi.Errno) { return d.stat(name, d.root.Lstat) }

// stat returns what statFunc, os.Root's Stat or Lstat, says about a name.
func (d *rootDir) stat(name string, statFunc func(string) (fs.FileInfo, error)) (sys.Stat_t, wasi.Errno) {
	name, dir, errno := d.localName(name)
	if errno != 0 {
		return sys.Stat_t{}, errno
	}
	info, err := statFunc(name)
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	if dir && info.Mode().IsRegular() {
		return sys.Stat_t{}, wasi.ENOTDIR
	}
	return guestStat(info), 0
}

// guestStat returns what a guest can learn about a file. WASI has no type for pipes
// and sockets, so they appear as devices, which cannot be opened either: guests in
// Go reject a whole directory if an entry has no type.
func guestStat(info fs.FileInfo) sys.Stat_t {
	st := sys.NewStat_t(info)
	st.Mode = guestMode(st.Mode)
	return st
}

// guestMode shows pipes, sockets and irregular files as devices. WASI has no type for
// them, and guests in Go reject a directory in which an entry has no type.
func guestMode(mode fs.FileMode) fs.FileMode {
	if mode&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeIrregular) != 0 {
		return mode.Perm() | fs.ModeDevice | fs.ModeCharDevice
	}
	return mode
}

// Mkdir creates a directory. The mode that the guest asks for is ignored.
func (d *rootDir) Mkdir(name string, _ fs.FileMode) wasi.Errno {
	name, _, errno := d.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	return errnoOf(d.root.Mkdir(name, newDirMode))
}

func (d *rootDir) Rmdir(name string) wasi.Errno { return d.remove(name, true) }

func (d *rootDir) Unlink(name string) wasi.Errno { return d.remove(name, false) }

// remove removes a directory or, if dir is false, a file. The granted directory itself,
// ".", cannot be removed.
func (d *rootDir) remove(name string, dir bool) wasi.Errno {
	name, slash, errno := d.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	if name == "." {
		return wasi.EINVAL
	}
	info, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return errnoOf(err)
	case info.IsDir() && !dir:
		return wasi.EISDIR
	case !info.IsDir() && (dir || slash):
		return wasi.ENOTDIR
	}
	return errnoOf(d.root.Remove(name))
}

// Rename implements wasi.FS. The engine does not call it for two different directories. A
// link is not renamed: its target would be looked up from another place.
func (d *rootDir) Rename(from, to string) wasi.Errno {
	from, slashFrom, errno := d.localNameToWrite(from)
	if errno != 0 {
		return errno
	}
	to, slashTo, errno := d.localNameToWrite(to)
	if errno != 0 {
		return errno
	}
	info, err := d.root.Lstat(from)
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
	return errnoOf(d.root.Rename(from, to))
}

func (*rootDir) Link(_, _ string) wasi.Errno { return wasi.EPERM }

func (*rootDir) Symlink(_, _ string) wasi.Errno { return wasi.EPERM }

// Utimens sets the times of access and modification, in nanoseconds since 1970.
func (d *rootDir) Utimens(name string, atim, mtim int64) wasi.Errno {
	name, _, errno := d.localNameToWrite(name)
	if errno != 0 {
		return errno
	}
	moment := func(ns int64) time.Time {
		if ns == wasi.UTIME_OMIT {
			return time.Time{} // unchanged
		}
		return time.Unix(0, ns)
	}
	return errnoOf(d.root.Chtimes(name, moment(atim), moment(mtim)))
}

// errnoOf converts an error of the host to one that a guest may see. A link that leads out
// of the directory looks like missing permission, as does everything that is not listed.
func errnoOf(err error) wasi.Errno {
	if err == nil {
		return 0
	}
	// First, because fs.ErrExist also matches a directory that is not empty.
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
