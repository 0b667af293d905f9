package embedded

import "time"

const (
	// mendPause is how long a registry that cannot write waits before it tries again. An
	// attempt may write a whole snapshot.
	mendPause = 5 * time.Second
	// mendLogPause is the shortest time between two log entries about that.
	mendLogPause = time.Minute
)

// mend tries to write a new pair of files until that succeeds or the registry closes.
func (j *journal) mend() {
	since := time.Now()
	logged := since
	log := j.registry.options.Logger
	for {
		select {
		case <-j.stop:
			return
		case <-time.After(mendPause):
		}
		err := j.renew()
		if err == nil {
			log.Warn("the registry can write again", "after", time.Since(since).Round(time.Second))
			return
		}
		if time.Since(logged) >= mendLogPause {
			logged = time.Now()
			log.Error("the registry still cannot write; no run begins before it can", "since", since, "error", err)
		}
	}
}

// renew writes the tree as a new pair of files and accepts writes again. It uses nothing of the
// failed log: after a failed sync it is unknown what of the log is on the disk, and a later
// sync does not change that. The tree has all acknowledged commits, and also commits whose
// outcome was unknown: these are durable from now on.
//
// The order allows for a crash in between. The new log is created first and stays empty until
// its snapshot is in place, so a start finds either the old pair with an empty log after it, or
// the new pair. The log is created only once, because it must never be missing once its
// snapshot is in place.
func (j *journal) renew() error {
	r := j.registry
	r.mu.Lock()
	seq := j.seq + 1
	r.mu.Unlock()
	if j.next == nil {
		next, err := createLog(j.disk, seq)
		if err != nil {
			return err
		}
		j.next = next
	}
	for resumed := false; !resumed; {
		r.mu.Lock()
		revision, snapshot := r.tree.Revision(), encodeSnapshot(r.tree, seq, j.epoch)
		r.mu.Unlock()
		if err := writeSnapshot(j.disk, seq, snapshot); err != nil {
			return err
		}
		resumed = j.resume(seq, revision, int64(len(snapshot)))
	}
	if err := removeBefore(j.disk, seq); err != nil {
		r.options.Logger.Warn("old registry files cannot be removed", "error", err)
	}
	return nil
}

// resume replaces the failed log by next, with the number seq, and lets commits in again. It
// returns false if the tree has changed since revision, when the snapshot was taken, so that
// another snapshot is needed: commits are refused meanwhile, but sessions may end. snapshot is
// its size.
func (j *journal) resume(seq uint64, revision, snapshot int64) bool {
	j.switching.Lock() // so that no sync is running
	defer j.switching.Unlock()
	r := j.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tree.Revision() != revision {
		return false
	}
	_ = j.file.Close() // it does not matter whether all of it could be written
	j.file, j.next = j.next, nil
	j.seq, j.size, j.synced = seq, logHeader, logHeader
	j.limit = max(r.options.SnapshotBytes, snapshot)
	j.failed, r.readOnly = nil, nil
	return true
}
