package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// openFile is an open file or directory of a jail.
type openFile struct {
	wasi.UnimplementedFile
	f             *os.File
	root          *rootDir
	name          string // when it was opened
	dir           bool
	write         bool
	append        bool
	listedEntries int // entries since the last rewind
}

// checkOpened looks at what was opened. Only now it is known to be a file, and cut
// if that was asked for.
func (f *openFile) checkOpened(wantDir, truncate bool) wasi.Errno {
	info, err := f.f.Stat()
	if err != nil || !isFileOrDir(info) {
		return wasi.EPERM
	}
	f.dir = info.IsDir()
	switch {
	case wantDir && !f.dir:
		return wasi.ENOTDIR
	case f.dir && f.write:
		return wasi.EISDIR
	case truncate:
		return errnoOf(f.f.Truncate(0))
	}
	return 0
}

// runEnded tells that the run has ended, and with it what its guest asked for: one
// call of a guest may want more than can be done in a day.
func (f *openFile) runEnded() bool { return f.root.ctx.Err() != nil }

// IsDir implements wasi.File, as do the others.
func (f *openFile) IsDir() (bool, wasi.Errno) { return f.dir, 0 }

// IsAppend tells how the file was opened.
func (f *openFile) IsAppend() bool { return f.append }

// SetAppend does not change that: the operating system would have to.
func (f *openFile) SetAppend(enable bool) wasi.Errno {
	if enable != f.append {
		return wasi.ENOTSUP
	}
	return 0
}

// Stat gives what a guest learns of the file.
func (f *openFile) Stat() (sys.Stat_t, wasi.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	return guestStat(info), 0
}

// Dev is the number of the file's device.
func (f *openFile) Dev() (uint64, wasi.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

// Ino is the number of the file on it.
func (f *openFile) Ino() (sys.Inode, wasi.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

// Read reads at most maxPiece bytes.
func (f *openFile) Read(p []byte) (int, wasi.Errno) {
	return f.transfer(p, f.f.Read)
}

// Pread reads at an offset.
func (f *openFile) Pread(p []byte, at int64) (int, wasi.Errno) {
	return f.transfer(p, func(p []byte) (int, error) { return f.f.ReadAt(p, at) })
}

// Write writes at most maxPiece bytes.
func (f *openFile) Write(p []byte) (int, wasi.Errno) {
	if !f.write {
		return 0, wasi.EBADF
	}
	return f.transfer(p, f.f.Write)
}

// Pwrite writes at an offset, which Go does not do to a file that only grows.
func (f *openFile) Pwrite(p []byte, at int64) (int, wasi.Errno) {
	switch {
	case !f.write:
		return 0, wasi.EBADF
	case f.append:
		return 0, wasi.ENOTSUP
	}
	return f.transfer(p, func(p []byte) (int, error) { return f.f.WriteAt(p, at) })
}

func (f *openFile) transfer(p []byte, do func([]byte) (int, error)) (int, wasi.Errno) {
	switch {
	case f.runEnded():
		return 0, wasi.EINTR
	case f.dir:
		return 0, wasi.EISDIR
	case len(p) == 0:
		return 0, 0
	}
	n, err := do(p[:min(len(p), maxTransfer)])
	if n > 0 || errors.Is(err, io.EOF) {
		return n, 0 // an error will come again
	}
	return 0, errnoOf(err)
}

// position is an int64 by another name: this Seek is that of the engine, and
// vet would take it for a mistaken io.Seeker.
type position = int64

// Seek moves to an offset. A directory only goes back to its beginning.
func (f *openFile) Seek(offset position, whence int) (position, wasi.Errno) {
	if f.dir {
		if offset != 0 || whence != io.SeekStart {
			return 0, wasi.EISDIR
		}
		f.root.listedEntries -= f.listedEntries
		f.listedEntries = 0
	}
	n, err := f.f.Seek(offset, whence)
	return n, errnoOf(err)
}

// Readdir lists entries. The engine takes fewer than n for the end, however
// many that are, so what would be too much is an error.
func (f *openFile) Readdir(n int) ([]wasi.Dirent, wasi.Errno) {
	if f.runEnded() {
		return nil, wasi.EINTR
	}
	if !f.dir {
		return nil, wasi.ENOTDIR
	}
	room := maxListedEntries - f.root.listedEntries
	if n <= 0 || n > room {
		n = room + 1
	}
	entries, err := f.f.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, errnoOf(err)
	}
	if len(entries) > room {
		return nil, wasi.ERANGE
	}
	f.listedEntries += len(entries)
	f.root.listedEntries += len(entries)
	out := make([]wasi.Dirent, 0, len(entries))
	for _, e := range entries {
		out = append(out, wasi.Dirent{Name: e.Name(), Type: guestMode(e.Type()) & fs.ModeType})
	}
	return out, 0
}

// Truncate sets the size.
func (f *openFile) Truncate(size int64) wasi.Errno {
	switch {
	case f.dir:
		return wasi.EISDIR
	case !f.write:
		return wasi.EBADF
	case size < 0:
		return wasi.EINVAL
	case f.runEnded():
		return wasi.EINTR
	}
	return errnoOf(f.f.Truncate(size))
}

// Sync waits until all is on the disk.
func (f *openFile) Sync() wasi.Errno {
	switch {
	case f.runEnded():
		return wasi.EINTR
	case !f.root.write:
		return 0
	}
	return errnoOf(f.f.Sync())
}

// Datasync does the same.
func (f *openFile) Datasync() wasi.Errno { return f.Sync() }

// Utimens goes by the name, if it still means this file.
func (f *openFile) Utimens(atim, mtim int64) wasi.Errno {
	if !f.root.write {
		return wasi.EROFS
	}
	own, err := f.f.Stat()
	if err != nil {
		return errnoOf(err)
	}
	named, err := f.root.root.Stat(f.name)
	if err != nil {
		return errnoOf(err)
	}
	if !os.SameFile(own, named) {
		return wasi.ENOENT
	}
	return f.root.Utimens(f.name, atim, mtim)
}

// Close gives the file up; a second time it does nothing.
func (f *openFile) Close() wasi.Errno {
	if _, open := f.root.open[f]; !open {
		return 0
	}
	delete(f.root.open, f)
	f.root.listedEntries -= f.listedEntries
	return errnoOf(f.f.Close())
}
