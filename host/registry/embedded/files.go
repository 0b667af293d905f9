package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/wasmjob/wasmjob/host/registry/tree"
)

const (
	logMagic      = "WASMJLOG"
	snapshotMagic = "WASMJSNP"
	formatVersion = 1 // of snapshots
	logVersion    = 2 // of logs; logs of version 1 do not say how far they were synced

	logHeader      = 8 + 4 + 8 + 4             // magic, version, number, checksum
	snapshotHeader = 8 + 4 + 8 + 8 + 8 + 4 + 4 // magic, version, number, epoch, length and checksum of the body, checksum
	snapshotSum    = snapshotHeader - 4        // offset of the header's own checksum
	temporary      = ".new"
)

func logName(seq uint64) string      { return fmt.Sprintf("log-%010d", seq) }
func snapshotName(seq uint64) string { return fmt.Sprintf("snapshot-%010d", seq) }

// DamageError says that a file of the registry is damaged and cannot be repaired without losing
// acknowledged transactions.
type DamageError struct {
	File    string
	Offset  int64 // of the first byte that cannot be used
	Problem string
	Advice  string // what the operator can do
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d: %s; %s", e.File, e.Offset, e.Problem, e.Advice)
}

const restoreAdvice = "restore the directory from a backup"

// createLog creates an empty and durable log with the number seq.
func createLog(d disk, seq uint64) (file, error) {
	name := logName(seq)
	f, err := d.create(name)
	if err != nil {
		return nil, fmt.Errorf("create log: %w", err)
	}
	b := append(make([]byte, 0, logHeader), logMagic...)
	b = binary.LittleEndian.AppendUint32(b, logVersion)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = d.sync()
	}
	if err != nil {
		// Otherwise each start on a full disk would leave a file behind.
		return nil, errors.Join(fmt.Errorf("create log %s: %w", d.path(name), err), f.Close(), d.remove(name))
	}
	return f, nil
}

// checkLogHeader returns what is wrong with the beginning of a log, or "".
func checkLogHeader(b []byte, seq uint64) string {
	switch {
	case len(b) < logHeader:
		return "it ends within its header"
	case string(b[:8]) != logMagic:
		return "it is no registry log"
	case crc32.Checksum(b[:logHeader-4], castagnoli) != binary.LittleEndian.Uint32(b[logHeader-4:]):
		return "the checksum of its header differs"
	case versionOf(b) != logVersion && versionOf(b) != logVersion-1:
		return "it is of another version of the format"
	case binary.LittleEndian.Uint64(b[12:]) != seq:
		return "it has the number of another log"
	}
	return ""
}

// versionOf returns the version in the header of a log.
func versionOf(log []byte) uint32 { return binary.LittleEndian.Uint32(log[8:]) }

// encodeSnapshot returns the content of a snapshot file.
func encodeSnapshot(t *tree.Tree, seq, epoch uint64) []byte {
	b := t.Encode(make([]byte, snapshotHeader, 4096))
	body := b[snapshotHeader:]
	copy(b, snapshotMagic)
	binary.LittleEndian.PutUint32(b[8:], formatVersion)
	binary.LittleEndian.PutUint64(b[12:], seq)
	binary.LittleEndian.PutUint64(b[20:], epoch)
	binary.LittleEndian.PutUint64(b[28:], uint64(len(body)))
	binary.LittleEndian.PutUint32(b[36:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(b[snapshotSum:], crc32.Checksum(b[:snapshotSum], castagnoli))
	return b
}

// decodeSnapshot reads the file of snapshot seq. If it is damaged, problem says how, and offset
// where; otherwise problem is "". The numbers are offsets in the header, which encodeSnapshot
// writes.
func decodeSnapshot(b []byte, seq uint64) (t *tree.Tree, epoch uint64, offset int64, problem string) {
	if len(b) < snapshotHeader {
		return nil, 0, int64(len(b)), "it ends within its header"
	}
	body := b[snapshotHeader:]
	switch {
	case string(b[:8]) != snapshotMagic:
		return nil, 0, 0, "it is no registry snapshot"
	case crc32.Checksum(b[:snapshotSum], castagnoli) != binary.LittleEndian.Uint32(b[snapshotSum:]):
		return nil, 0, 0, "the checksum of its header differs"
	case binary.LittleEndian.Uint32(b[8:]) != formatVersion:
		return nil, 0, 8, "it is of another version of the format"
	case binary.LittleEndian.Uint64(b[12:]) != seq:
		return nil, 0, 12, "it has the number of another snapshot"
	case binary.LittleEndian.Uint64(b[28:]) != uint64(len(body)):
		return nil, 0, int64(len(b)), "its length differs from what its header says"
	case crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[36:]):
		return nil, 0, snapshotHeader, "the checksum of its nodes differs"
	}
	t, err := tree.Decode(body)
	if err != nil {
		return nil, 0, snapshotHeader, err.Error()
	}
	return t, binary.LittleEndian.Uint64(b[20:]), 0, ""
}

// writeSnapshot writes a snapshot that is afterwards either complete or absent: it has a
// temporary name until it is on the disk.
func writeSnapshot(d disk, seq uint64, b []byte) error {
	name := snapshotName(seq)
	f, err := d.create(name + temporary)
	if err != nil {
		return fmt.Errorf("create snapshot: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = d.rename(name+temporary, name)
	}
	if err != nil {
		// The snapshot may be what fills the disk.
		return errors.Join(fmt.Errorf("write snapshot %s: %w", d.path(name), err), d.remove(name+temporary))
	}
	if err := d.sync(); err != nil {
		return fmt.Errorf("write snapshot %s: %w", d.path(name), err)
	}
	return nil
}

// listing lists the registry's files in a directory.
type listing struct {
	logs, snapshots []uint64 // sorted
	unfinished      []string
}

// list lists the files of the registry. It ignores all others.
func list(d disk) (listing, error) {
	var l listing
	names, err := d.list()
	if err != nil {
		return l, fmt.Errorf("list data directory: %w", err)
	}
	for _, name := range names {
		var seq uint64
		if _, err := fmt.Sscanf(name, "log-%d", &seq); err == nil && name == logName(seq) {
			l.logs = append(l.logs, seq)
		}
		if _, err := fmt.Sscanf(name, "snapshot-%d", &seq); err != nil {
			continue
		}
		switch name {
		case snapshotName(seq):
			l.snapshots = append(l.snapshots, seq)
		case snapshotName(seq) + temporary:
			l.unfinished = append(l.unfinished, name)
		}
	}
	slices.Sort(l.logs)
	slices.Sort(l.snapshots)
	return l, nil
}

// removeBefore removes the files that the pair number seq replaces, oldest first, so that the
// remaining logs always have a snapshot before them.
func removeBefore(d disk, seq uint64) error {
	l, err := list(d)
	if err != nil {
		return err
	}
	var errs []error
	for _, n := range l.logs {
		if n < seq {
			errs = append(errs, d.remove(logName(n)))
		}
	}
	for _, n := range l.snapshots {
		if n < seq {
			errs = append(errs, d.remove(snapshotName(n)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove old registry files: %w", err)
	}
	return nil
}
