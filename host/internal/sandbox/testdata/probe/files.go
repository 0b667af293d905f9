package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	wasmjob "github.com/wasmjob/wasmjob/abi/go"
)

func files(c wasmjob.Context, what, arg string) error {
	first, second, _ := strings.Cut(arg, ">")
	switch what {
	case "read":
		b, err := os.ReadFile(arg)
		return errors.Join(err, c.Result(b))
	case "create":
		return os.WriteFile(arg, []byte("x"), 0o644)
	case "append":
		f, err := os.OpenFile(arg, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("x")
		return err
	case "truncate":
		return os.Truncate(arg, 1)
	case "mkdir":
		return os.MkdirAll(arg, 0o755)
	case "touch":
		return os.Chtimes(arg, time.Unix(1, 0), time.Unix(2, 0))
	case "remove":
		return os.Remove(arg)
	case "rename":
		return os.Rename(first, second)
	case "link":
		return os.Link(first, second)
	case "symlink":
		return os.Symlink("/etc/passwd", arg)
	case "play":
		return play(c, arg)
	case "walk":
		var seen []string
		err := fs.WalkDir(os.DirFS(arg), ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			seen = append(seen, p+":"+d.Type().String()[:1])
			return nil
		})
		return errors.Join(err, c.ResultString(strings.Join(seen, " ")))
	case "open many":
		var open []*os.File
		for {
			f, err := os.Open(arg)
			if err != nil {
				return errors.Join(err, c.ResultString(fmt.Sprint(len(open))))
			}
			open = append(open, f)
		}
	}
	return errors.New("nothing like that: " + what)
}

// play performs typical file operations in dir.
func play(c wasmjob.Context, dir string) error {
	sub := filepath.Join(dir, "x", "y")
	name := filepath.Join(sub, "file")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	buf := make([]byte, 3)
	_, write := f.WriteString("0123456789")
	_, writeAt := f.WriteAt([]byte("ABC"), 2)
	_, seek := f.Seek(-4, io.SeekEnd)
	_, read := io.ReadFull(f, buf)
	said := string(buf)
	_, readAt := f.ReadAt(buf, 1)
	said += " " + string(buf)
	info, stat := f.Stat()
	if err := errors.Join(write, writeAt, seek, read, readAt, stat, f.Truncate(8), f.Sync(), f.Close()); err != nil {
		return err
	}
	said += fmt.Sprint(" ", info.Size(), info.Mode().IsRegular())
	more, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, add := more.WriteString("+end")
	moved := filepath.Join(dir, "moved")
	if err := errors.Join(add, more.Close(), os.Rename(name, moved), os.Chtimes(moved, time.Unix(5, 0), time.Unix(1_000_000_000, 0))); err != nil {
		return err
	}
	if info, err = os.Stat(moved); err != nil {
		return err
	}
	b, err := os.ReadFile(moved)
	said += fmt.Sprint(" ", string(b), " ", info.ModTime().Unix())
	temp, tempErr := os.CreateTemp(sub, "t*")
	if err := errors.Join(err, tempErr, temp.Close(), os.WriteFile(filepath.Join(sub, "z"), []byte("z"), 0o600)); err != nil {
		return err
	}
	entries, err := os.ReadDir(sub)
	said += fmt.Sprint(" ", len(entries))
	if _, twice := os.OpenFile(moved, os.O_CREATE|os.O_EXCL, 0o644); !errors.Is(twice, fs.ErrExist) {
		return fmt.Errorf("made twice: %w", twice)
	}
	if full := os.Remove(sub); full == nil {
		return errors.New("a directory was removed that is not empty")
	}
	if _, none := os.Stat(name); !errors.Is(none, fs.ErrNotExist) {
		return fmt.Errorf("still there: %w", none)
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(dir, "x")), c.ResultString(said))
}
