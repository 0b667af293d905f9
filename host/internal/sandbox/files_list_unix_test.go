//go:build unix

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	wasi "github.com/tetratelabs/wazero/experimental/sys"
)

func TestRootDirLists(t *testing.T) {
	t.Parallel()
	inside, _ := dirsWithLinks(t)
	j, cancel := openRootDir(t, inside, false)
	// Entries that cannot be opened are still listed, with a type that WASI knows.
	top, errno := j.OpenFile(".", wasi.O_DIRECTORY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	const pipe = fs.ModeDevice | fs.ModeCharDevice
	entries, errno := top.Readdir(-1)
	at := slices.IndexFunc(entries, func(e wasi.Dirent) bool { return e.Name == "pipe" })
	if errno != 0 || at < 0 || entries[at].Type != pipe {
		t.Errorf("the pipe in a list: %v, %v", entries, errno)
	}
	if st, errno := j.Stat("topipe"); errno != 0 || st.Mode&fs.ModeType != pipe {
		t.Errorf("the pipe: %v, %v", st.Mode, errno)
	}
	if more, errno := top.Readdir(10); len(more) != 0 || errno != 0 {
		t.Errorf("after the end: %v, %v", more, errno)
	}
	if j.listedEntries != len(entries) {
		t.Errorf("%d entries are counted of %d", j.listedEntries, len(entries))
	}
	if _, errno := top.Seek(3, 0); errno != wasi.EISDIR {
		t.Errorf("seek: %v", errno)
	}
	if _, errno := top.Seek(0, 0); errno != 0 || j.listedEntries != 0 {
		t.Errorf("rewind: %v, %d entries are counted", errno, j.listedEntries)
	}
	j.listedEntries = maxListedEntries - 3
	if more, errno := top.Readdir(3); len(more) != 3 || errno != 0 {
		t.Errorf("the last that fit: %v, %v", more, errno)
	}
	if more, errno := top.Readdir(1 << 30); errno != wasi.ERANGE {
		t.Errorf("too many: %v, %v", more, errno)
	}
	if _, errno := top.Read(make([]byte, 1)); errno != wasi.EISDIR {
		t.Errorf("read: %v", errno)
	}
	if top.Close() != 0 || j.listedEntries != maxListedEntries-3 {
		t.Errorf("%d entries are counted after the end", j.listedEntries)
	}
	cancel()
	if _, errno := j.Stat("."); errno != wasi.EINTR {
		t.Errorf("stat after the end: %v", errno)
	}
}

// The memory of listed entries is claimed once, and what is not given ends the list.
func TestRootDirClaimsMemoryOfLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const files = 3 * listedAtOnce
	for i := range files {
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i+10_000)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, _ := openRootDir(t, dir, false)
	var claimed, most uint64 = 0, 2 * files * (bytesOfEntry + 5)
	j.claim = func(more uint64) bool {
		if claimed+more > most {
			return false
		}
		claimed += more
		return true
	}
	var all []wasi.File
	for range 3 {
		f, errno := j.OpenFile(".", wasi.O_DIRECTORY, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		all = append(all, f)
	}
	for i, want := range []wasi.Errno{0, 0, wasi.ERANGE} {
		if list, errno := all[i].Readdir(-1); errno != want || errno == 0 && len(list) != files {
			t.Errorf("list %d: %d entries, %v", i, len(list), errno)
		}
	}
	if claimed != most {
		t.Errorf("%d bytes are claimed, want %d", claimed, most)
	}
	if errno := all[0].Close(); errno != 0 {
		t.Error(errno)
	}
	if list, errno := all[2].Readdir(1); errno != wasi.ERANGE {
		t.Errorf("it goes on after entries that are lost: %v, %v", list, errno)
	}
	if _, errno := all[1].Seek(0, 0); errno != 0 {
		t.Error(errno)
	}
	if list, errno := all[1].Readdir(files); errno != 0 || len(list) != files || claimed != most {
		t.Errorf("after a close and a rewind: %d entries, %v, %d bytes", len(list), errno, claimed)
	}
}
