package follow

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

// longestPause is the longest pause before reads or transactions are tried again.
const longestPause = 10 * time.Second

// firstPause is the shortest pause. It keeps failing reads and refused transactions
// from being repeated in a busy loop.
const firstPause = 200 * time.Millisecond

// marksPause is the delay of reads of running marks beside foreign members. At each
// instant they create and delete their marks one by one. Meanwhile decisions are made on
// the view before.
const marksPause = 25 * time.Millisecond

// marks is the state of running marks whose reads are delayed.
type marks uint8

const (
	noneDelayed marks = iota // none are delayed
	delayed                  // the pause runs
	pauseOver                // the pause has passed
)

// marksMayWait reports whether only running marks must be read, and nothing waits for the
// next view. A pending reshard waits for it, since it must know which items run.
func (l *Loop) marksMayWait() bool {
	return l.view != nil && l.view.Shared() && !l.view.Necessary && !l.view.Processing && !l.answered && !l.syncing && !l.mirror.Urgent(l.job.RunningMark)
}

// Reads returns the reads to issue now; answer each with Reply or Failed. If wait
// is not 0, further reads are delayed: call Waited after that time, and then Reads
// again.
func (l *Loop) Reads() (reads []mirror.Read, wait time.Duration) {
	wants := l.mirror.Wants()
	if !wants && l.marks == noneDelayed {
		return nil, 0 // the usual case
	}
	if l.marks == pauseOver || !l.marksMayWait() { // all reads are issued, those of marks, too
		l.marks = noneDelayed
		return l.mirror.Wanted(), 0
	}
	if l.marks == noneDelayed {
		l.marks = delayed
		return nil, marksPause
	}
	return nil, 0 // the pause runs
}

// Waited must be called after the wait that Reads returned.
func (l *Loop) Waited() {
	if l.marks == delayed {
		l.marks = pauseOver
	}
}

// Reply receives the answer to a read.
func (l *Loop) Reply(r mirror.Read, n registry.Node) {
	l.failures = 0
	l.mirror.Reply(r, n)
}

// Failed records a read without an answer. The read is repeated later: no event says that
// a missing permission was granted. If pause is not 0, call Repeat after that time.
func (l *Loop) Failed(r mirror.Read) (pause time.Duration) {
	if l.failed = append(l.failed, r); len(l.failed) > 1 {
		return 0 // the pause runs already
	}
	l.failures++
	return backoff.After(firstPause, longestPause, int(l.failures))
}

// Repeat makes the mirror repeat the failed reads.
func (l *Loop) Repeat() {
	failed := l.failed
	l.failed = nil
	for _, r := range failed {
		l.mirror.Failed(r)
	}
}
