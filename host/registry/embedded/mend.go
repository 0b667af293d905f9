package embedded

import "time"

const (
	// mendPause is how long a registry that takes no writes waits before it
	// tries again. A try may write a whole snapshot.
	mendPause = 5 * time.Second
	// mendTold is how often it says so.
	mendTold = time.Minute
)

// mend begins anew until that succeeds or the registry closes.
func (j *journal) mend() {
	since := time.Now()
	told := since
	log := j.registry.options.Logger
	for {
		select {
		case <-j.stop:
			return
		case <-time.After(mendPause):
		}
		err := j.renew()
		if err == nil {
			log.Warn("the registry takes writes again", "after", time.Since(since).Round(time.Second))
			return
		}
		if time.Since(told) >= mendTold {
			told = time.Now()
			log.Error("the registry still takes no writes; nothing begins before it can write", "since", since, "error", err)
		}
	}
}

// renew writes the tree as a new pair of files and takes writes again. Nothing
// of the log that failed is used: after a failed sync nobody knows what of it is
// on the disk, and no later sync tells. The tree has what was acknowledged, and
// also the commits whose outcome nobody was told: from here on they are durable.
//
// The order is what a crash in between asks for. The new log is made first and
// stays empty until its snapshot is in place, so that a start finds either the old
// pair with an empty log behind it, or the new one. It is made once: with its
// snapshot in place it must never be missing.
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
		r.options.Logger.Warn("old registry files stay", "error", err)
	}
	return nil
}

// resume lets the next log, number seq, take the place of the one that failed.
// It returns false if the snapshot, taken at a revision, is not the tree any more:
// no commit can have come, but sessions end.
func (j *journal) resume(seq uint64, revision, snapshot int64) bool {
	j.switching.Lock() // no sync is under way
	defer j.switching.Unlock()
	r := j.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tree.Revision() != revision {
		return false
	}
	_ = j.file.Close() // whether all of it could be written is of no interest any more
	j.file, j.next = j.next, nil
	j.seq, j.size, j.synced = seq, logHeader, logHeader
	j.limit = max(r.options.SnapshotBytes, snapshot)
	j.failed, r.readOnly = nil, nil
	return true
}
