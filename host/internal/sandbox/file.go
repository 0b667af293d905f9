package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"
)

// openFile is an open file or directory of a rootDir.
type openFile struct {
	wasi.UnimplementedFile
	f             *os.File
	root          *rootDir
	name          string // at the time of opening
	dir           bool
	write         bool
	append        bool
	listedEntries int    // entries since the last rewind
	listedBytes   uint64 // their memory
	listFailed    bool   // since the last rewind: entries were read that the guest did not get
}

// checkOpened checks what was opened, and truncates it if requested, after it is
// known to be a regular file.
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

// runEnded reports whether the run has ended. File operations stop then, since a
// guest can request more in one call than could be done in a day.
func (f *openFile) runEnded() bool { return f.root.ctx.Err() != nil }

// IsDir implements wasi.File, as do the methods below.
func (f *openFile) IsDir() (bool, wasi.Errno) { return f.dir, 0 }

func (f *openFile) IsAppend() bool { return f.append }

// SetAppend cannot change the mode; the operating system has no function for it.
func (f *openFile) SetAppend(enable bool) wasi.Errno {
	if enable != f.append {
		return wasi.ENOTSUP
	}
	return 0
}

// Stat returns the guest's view of the file.
func (f *openFile) Stat() (sys.Stat_t, wasi.Errno) {
	info, err := f.f.Stat()
	if err != nil {
		return sys.Stat_t{}, errnoOf(err)
	}
	return guestStat(info), 0
}

// Dev returns the device number of the file.
func (f *openFile) Dev() (uint64, wasi.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

func (f *openFile) Ino() (sys.Inode, wasi.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

// Read reads at most maxTransfer bytes.
func (f *openFile) Read(p []byte) (int, wasi.Errno) { return f.transfer(p, f.f.Read) }

// Pread reads at an offset.
func (f *openFile) Pread(p []byte, at int64) (int, wasi.Errno) {
	return f.transfer(p, func(p []byte) (int, error) { return f.f.ReadAt(p, at) })
}

// Write writes at most maxTransfer bytes.
func (f *openFile) Write(p []byte) (int, wasi.Errno) {
	if !f.write {
		return 0, wasi.EBADF
	}
	return f.transfer(p, f.f.Write)
}

// Pwrite writes at an offset. Go cannot do that for a file opened for appending.
func (f *openFile) Pwrite(p []byte, at int64) (int, wasi.Errno) {
	switch {
	case !f.write:
		return 0, wasi.EBADF
	case f.append:
		return 0, wasi.ENOTSUP
	}
	return f.transfer(p, func(p []byte) (int, error) { return f.f.WriteAt(p, at) })
}

// transfer reads or writes at most maxTransfer bytes with do, a method of the opened file.
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
		return n, 0 // the next call returns the error
	}
	return 0, errnoOf(err)
}

// position is an alias of int64: this Seek implements the engine's interface, and
// vet would report it as a wrong io.Seeker.
type position = int64

// Seek moves to an offset. In a directory the only valid one is the beginning.
func (f *openFile) Seek(offset position, whence int) (position, wasi.Errno) {
	if f.dir {
		if offset != 0 || whence != io.SeekStart {
			return 0, wasi.EISDIR
		}
		f.dropEntries() // as the engine does when a directory is rewound
	}
	n, err := f.f.Seek(offset, whence)
	return n, errnoOf(err)
}

// Readdir returns directory entries. The engine takes fewer than n entries for the
// end of the directory, so exceeding the limit is an error.
func (f *openFile) Readdir(n int) ([]wasi.Dirent, wasi.Errno) {
	if f.runEnded() {
		return nil, wasi.EINTR
	}
	if !f.dir {
		return nil, wasi.ENOTDIR
	}
	if f.listFailed { // to go on would leave entries out without a word
		return nil, wasi.ERANGE
	}
	room := maxListedEntries - f.root.listedEntries
	if n <= 0 || n > room {
		n = room + 1 // one more shows that the limit is exceeded
	}
	var out []wasi.Dirent
	f.listFailed = true // until all are read
	for len(out) < n {
		if f.runEnded() {
			return nil, wasi.EINTR
		}
		entries, err := f.f.ReadDir(min(n-len(out), listedAtOnce))
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errnoOf(err)
		}
		if len(entries) == 0 {
			break
		}
		bytes := uint64(0)
		for _, e := range entries {
			bytes += bytesOfEntry + uint64(len(e.Name()))
		}
		if len(out)+len(entries) > room || !f.root.hold(len(entries), bytes) {
			return nil, wasi.ERANGE
		}
		f.listedEntries += len(entries)
		f.listedBytes += bytes
		for _, e := range entries {
			out = append(out, wasi.Dirent{Name: e.Name(), Type: guestMode(e.Type()) & fs.ModeType})
		}
	}
	f.listFailed = false
	return out, 0
}

// dropEntries no longer counts the entries that were read. The next list begins anew.
func (f *openFile) dropEntries() {
	f.root.listedEntries -= f.listedEntries
	f.root.listedBytes -= f.listedBytes
	f.listedEntries, f.listedBytes, f.listFailed = 0, 0, false
}

// Truncate sets the size of the file.
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

// Sync waits until the content is on disk.
func (f *openFile) Sync() wasi.Errno {
	switch {
	case f.runEnded():
		return wasi.EINTR
	case !f.root.write: // nothing was written
		return 0
	}
	return errnoOf(f.f.Sync())
}

func (f *openFile) Datasync() wasi.Errno { return f.Sync() }

// Utimens sets the times by name, if the name still refers to this file: os.Root has no
// function for an open file.
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

// Close closes the file. Further calls do nothing.
func (f *openFile) Close() wasi.Errno {
	if _, open := f.root.open[f]; !open {
		return 0
	}
	delete(f.root.open, f)
	f.dropEntries()
	return errnoOf(f.f.Close())
}
