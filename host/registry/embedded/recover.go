package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/wasmjob/wasmjob/host/registry/tree"
)

// recovered is the content of a directory.
type recovered struct {
	tree  *tree.Tree
	epoch uint64 // of the last opening
	next  uint64 // a number that no file has
}

// recoverTree rebuilds the tree from the newest snapshot and the logs since then, and ends all
// its sessions. It removes unfinished snapshots and changes nothing else. If a power loss
// destroyed the unsynced end of the last log, recoverTree drops that end with a warning; all
// other damage is a DamageError.
func recoverTree(d disk, logger *slog.Logger) (recovered, error) {
	files, err := list(d)
	if err != nil {
		return recovered{}, err
	}
	for _, name := range files.unfinished {
		if err := d.remove(name); err != nil {
			return recovered{}, fmt.Errorf("remove unfinished snapshot: %w", err)
		}
	}
	if len(files.snapshots) == 0 {
		return recoverNothing(d, files)
	}
	seq := files.snapshots[len(files.snapshots)-1]
	b, err := d.read(snapshotName(seq))
	if err != nil {
		return recovered{}, fmt.Errorf("read snapshot: %w", err)
	}
	t, epoch, offset, problem := decodeSnapshot(b, seq)
	if problem != "" {
		return recovered{}, &DamageError{d.path(snapshotName(seq)), offset, problem, restoreAdvice}
	}
	next, err := replayLogs(d, t, seq, files.logs, logger)
	if err != nil {
		return recovered{}, err
	}
	for _, owner := range t.Owners() {
		t.EndSession(owner, 0)
	}
	return recovered{tree: t, epoch: epoch, next: next}, nil
}

// recoverNothing handles a directory without a snapshot. Either the directory is new, or its
// first opening did not finish, or it has lost its snapshot, which is damage.
func recoverNothing(d disk, files listing) (recovered, error) {
	for _, seq := range files.logs {
		b, err := d.read(logName(seq))
		if err != nil {
			return recovered{}, fmt.Errorf("read log: %w", err)
		}
		// The first opening creates log 1 before the snapshot, and appends nothing until that is
		// there.
		if seq != 1 || len(b) > logHeader {
			return recovered{}, &DamageError{
				d.path(snapshotName(seq)), 0, "it is missing, while its log has records", restoreAdvice,
			}
		}
	}
	return recovered{tree: tree.New(), next: 1}, nil
}

// replayLogs applies the logs from number seq on to t, and returns a number that follows all of
// them. Only the last log in use may have lost its end: before a new log is used, the previous
// one is completely on the disk, or a snapshot replaces it.
func replayLogs(d disk, t *tree.Tree, seq uint64, logs []uint64, logger *slog.Logger) (uint64, error) {
	last := seq
	if len(logs) > 0 {
		last = max(last, logs[len(logs)-1])
	}
	var torn *DamageError // the damage of a log whose end is lost; nil: none so far
	for n := seq; n <= last; n++ {
		name := logName(n)
		b, err := d.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, &DamageError{d.path(name), 0, "it is missing", restoreAdvice}
		}
		if err != nil {
			return 0, fmt.Errorf("read log: %w", err)
		}
		if torn != nil && len(b) > logHeader {
			torn.Advice = "later logs have records: " + restoreAdvice
			return 0, torn
		}
		if problem := checkLogHeader(b, n); problem != "" {
			torn = &DamageError{d.path(name), 0, problem, restoreAdvice}
			if n > seq && len(b) <= logHeader {
				// The process ended while it created this log. Later ones may be in the same
				// state: on a full disk no start gets further.
				continue
			}
			return 0, torn
		}
		cut, err := replayLog(d.path(name), t, b, n)
		if err != nil {
			return 0, err
		}
		if cut != nil {
			torn = cut
			logger.Warn("the end of the registry log had not reached the disk and is left out",
				"file", cut.File, "offset", cut.Offset, "bytes", int64(len(b))-cut.Offset, "problem", cut.Problem)
		}
	}
	return last + 1, nil
}

// replayLog applies one log to t. If its end is lost, because it had not reached the disk, torn
// says where; nil: it is complete. Other damage is an error.
func replayLog(path string, t *tree.Tree, log []byte, seq uint64) (torn *DamageError, err error) {
	for offset := int64(logHeader); offset < int64(len(log)); {
		payload, problem := frameAt(log, seq, offset)
		if problem != "" {
			torn := &DamageError{File: path, Offset: offset, Problem: problem}
			n, synced := intactAfter(log, seq, offset+1)
			// The damaged part had been synced. Logs of version 1 do not say that: in them,
			// intact records after the damage are taken for proof.
			if synced > offset || n > 0 && versionOf(log) < logVersion {
				torn.Problem = fmt.Sprintf("%s, and %d intact records follow", problem, n)
				torn.Advice = fmt.Sprintf("%s, or drop everything after it: truncate -s %d %s, and remove later logs", restoreAdvice, offset, path)
				return nil, torn
			}
			return torn, nil
		}
		r, err := parseRecord(payload)
		if err == nil {
			err = r.apply(t)
		}
		if err != nil {
			return nil, &DamageError{path, offset, err.Error(), restoreAdvice}
		}
		offset += frameHeader + int64(len(payload))
	}
	return nil, nil
}

// intactAfter counts the intact frames from offset on, and returns how far the log was synced
// according to them. Damage before that point is not the result of a crash. After it, a power
// loss may have kept a later part of the file but not an earlier one. A frame is intact only in
// its own place, so the search can try every byte.
func intactAfter(log []byte, seq uint64, offset int64) (n int, synced int64) {
	for offset < int64(len(log)) {
		payload, problem := frameAt(log, seq, offset)
		if problem != "" {
			offset++
			continue
		}
		n++
		if r, err := parseRecord(payload); err == nil {
			synced = max(synced, r.synced)
		}
		offset += frameHeader + int64(len(payload))
	}
	return n, synced
}
