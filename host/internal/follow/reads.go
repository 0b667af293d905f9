package follow

import (
	"time"

	"github.com/wasmjob/wasmjob/host/internal/backoff"
	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/mirror"
	"github.com/wasmjob/wasmjob/host/registry"
)

// longest is the longest of all pauses.
const longest = 10 * time.Second

// firstPause is the shortest of those that keep reads that fail, and transactions
// that are refused, from being repeated in a circle.
const firstPause = 200 * time.Millisecond

// marksPause is how long marks of runs wait to be read beside members of
// ElasticJob, which make and delete them one by one, at each instant all of them.
// What is decided meanwhile is decided on the view before.
const marksPause = 25 * time.Millisecond

// marks is how far marks of runs are that wait to be read.
type marks uint8

const (
	unmarked marks = iota // there are none
	marked                // they wait
	waited                // they have
)

// unhurried tells whether nothing but such marks is to be read, and nobody waits
// for the next view. Who assigns has to know what runs.
func (l *Loop) unhurried() bool {
	return l.view != nil && l.view.Shared() && !l.view.Necessary && !l.view.Processing && !l.answered && !l.syncing && !l.mirror.Urgent(layout.RunningMark)
}

// Reads are what is to be read now; each is answered by Reply or Failed. If wait is
// not 0, something is to be read later: call Waited after that time, and ask again.
func (l *Loop) Reads() (reads []mirror.Read, wait time.Duration) {
	wants := l.mirror.Wants()
	if !wants && l.marks == unmarked {
		return nil, 0 // as nearly always
	}
	if l.marks == waited || !l.unhurried() {
		l.marks = unmarked
		return l.mirror.Wanted(), 0
	}
	if l.marks == unmarked {
		l.marks = marked
		return nil, marksPause
	}
	return nil, 0
}

// Waited says that the time has passed that Reads told.
func (l *Loop) Waited() {
	if l.marks == marked {
		l.marks = waited
	}
}

// Reply takes the answer to a read.
func (l *Loop) Reply(r mirror.Read, n registry.Node) {
	l.rounds = 0
	l.mirror.Reply(r, n)
}

// Failed says that a read got no answer. It comes again later: a session that has
// ended says so by itself, and so does a connection that is back; but nobody tells
// when a permission was given. If pause is not 0, call Repeat after that time.
func (l *Loop) Failed(r mirror.Read) (pause time.Duration) {
	if l.failed = append(l.failed, r); len(l.failed) > 1 {
		return 0 // the others of this round are waited for already
	}
	l.rounds++
	return backoff.After(firstPause, longest, int(l.rounds))
}

// Repeat lets what could not be read be wanted once more.
func (l *Loop) Repeat() {
	failed := l.failed
	l.failed = nil
	for _, r := range failed {
		l.mirror.Failed(r)
	}
}
