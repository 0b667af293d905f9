package runner

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/internal/session"
	"github.com/wasmjob/wasmjob/host/registry"
)

// firstReadPause keeps reads that failed from being repeated in a circle; it doubles
// with each round that brings no answer.
const firstReadPause = 200 * time.Millisecond

// marksPause is how long marks of runs wait to be read beside members of
// ElasticJob, which make and delete them one by one, at each instant all of them.
// What is decided meanwhile is decided on the view before.
const marksPause = 25 * time.Millisecond

// unhurried tells whether nothing but such marks is to be read, and nobody waits
// for the next view. Who deals has to know what runs.
func (m *member) unhurried() bool {
	return m.view != nil && m.view.Shared() && !m.view.Necessary && !m.view.Processing && !m.answered && !m.syncing && !m.mirror.Urgent(layout.RunningMark)
}

// fetch asks for what the mirror wants to read; each answer is put into the
// mailbox.
func (m *member) fetch() {
	if m.marks == waited || !m.unhurried() {
		m.marks = unmarked
	} else {
		if m.marks == unmarked && m.mirror.Wants() {
			m.marks = marked
			time.AfterFunc(marksPause, func() { m.box.put(marksLetter{}) })
		}
		return
	}
	for _, r := range m.mirror.Wanted() {
		m.line.Fetch(m.life, r.Path, func(n registry.Node, err error) {
			m.box.put(replyLetter{read: r, node: n, err: err})
		})
	}
}

// replied takes the answer to a read. One that failed comes again later: a
// session that has ended says so by itself, and so does a connection that is
// back; but nobody tells when a permission was given.
func (m *member) replied(l replyLetter) {
	if l.err == nil {
		m.rounds = 0
		m.allow(l.read.Path)
		m.mirror.Reply(l.read, l.node)
		return
	}
	if errors.Is(l.err, registry.ErrDenied) {
		m.deny(l.read.Path, l.err)
	}
	m.Log.Debug("a read failed", "path", l.read.Path, "error", l.err)
	m.looked() // it may take long
	if m.failed = append(m.failed, l.read); len(m.failed) > 1 {
		return // the others of this round are waited for already
	}
	pause := min(firstReadPause<<min(m.rounds, 10), session.LastPause)
	m.rounds++
	time.AfterFunc(pause, func() { m.box.put(againLetter{}) })
}

// readAgain lets what could not be read be wanted once more.
func (m *member) readAgain() {
	failed := m.failed
	m.failed = nil
	for _, r := range failed {
		m.mirror.Failed(r)
	}
}

// deny keeps a path that may not be read, for whoever asks why the job does
// nothing.
func (m *member) deny(path string, cause error) {
	if _, known := m.denied[path]; known {
		return
	}
	if m.denied == nil {
		m.denied = map[string]string{}
	}
	m.denied[path] = cause.Error()
	m.Log.Error("a node of the job may not be read, nothing begins; it is tried again until it may", "error", cause)
	m.tellDenied()
}

func (m *member) allow(path string) {
	if _, known := m.denied[path]; known {
		delete(m.denied, path)
		m.tellDenied()
	}
}

// allowAll: every path could be read, or is of no account any more.
func (m *member) allowAll() {
	if len(m.denied) > 0 {
		m.denied = nil
		m.tellDenied()
	}
}

func (m *member) tellDenied() {
	m.troubles.set(troubleRead, strings.Join(slices.Sorted(maps.Values(m.denied)), "; "))
}
