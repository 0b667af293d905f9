package discovery

import (
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Input is something that happened.
type Input interface{ input() }

// The inputs about all jobs.
type (
	// ListChanged: the list of jobs may be another one.
	ListChanged struct{}
	// Listed answers List.
	Listed struct{ Names []string }
	// ListFailed answers it, too.
	ListFailed struct{}
	// FileHas: the server's own file has the job from now on. A candidate of that name
	// ends, and Gone says when.
	FileHas struct{ Name string }
	// FileLost: the file has it no more, and it has left the server.
	FileLost struct{ Name string }
	// Reported: what Undefined returned was reported. Lost is what UndefinedDue returned
	// before.
	Reported struct{ Lost []string }
	// Stop: the server stops. What is under way is still answered.
	Stop struct{}
)

// CandidateInput is an input about one candidate. If there is no such candidate, it
// changes nothing.
type CandidateInput interface {
	Input
	candidate() string
}

// The inputs about one candidate.
type (
	// Touched: its definition may be another one, it is time to try again, or, if
	// Members, who has its module may be another one.
	Touched struct {
		Name    string
		Members bool
	}
	// SessionEnded: what reads it needs another session.
	SessionEnded struct{ Name string }
	// Looked answers Look.
	Looked struct {
		Name string
		// Config and Module: the nodes of its definition are there. Created says when the
		// configuration was, for one that is made anew is another job.
		Config, Module bool
		Created        int64
	}
	// Fits answers Try: the server may and can run it.
	Fits struct{ Name string }
	// Refused answers Look, Try, Start and KeepShut: it does not run. Again: it may
	// after a while, though nothing else changes.
	Refused struct {
		Name  string
		Again bool
	}
	// Ended answers Start: it ran, and runs no more. Asked: the server wanted that; else an
	// operator has shut it down on this server.
	Ended struct {
		Name  string
		Asked bool
	}
	// Changed: the runner of a job that runs has read its definition again. Removed: the
	// registry does not have the job any more. Same: nothing of its configuration is new.
	// Blockers are why this server may not run it as it is now.
	Changed struct {
		Name          string
		Removed, Same bool
		Blockers      []reason.Reason
	}
	// Hidden answers Hide.
	Hidden struct{ Name string }
)

func (ListChanged) input()  {}
func (Listed) input()       {}
func (ListFailed) input()   {}
func (FileHas) input()      {}
func (FileLost) input()     {}
func (Reported) input()     {}
func (Stop) input()         {}
func (Touched) input()      {}
func (SessionEnded) input() {}
func (Looked) input()       {}
func (Fits) input()         {}
func (Refused) input()      {}
func (Ended) input()        {}
func (Changed) input()      {}
func (Hidden) input()       {}

func (in Touched) candidate() string      { return in.Name }
func (in SessionEnded) candidate() string { return in.Name }
func (in Looked) candidate() string       { return in.Name }
func (in Fits) candidate() string         { return in.Name }
func (in Refused) candidate() string      { return in.Name }
func (in Ended) candidate() string        { return in.Name }
func (in Changed) candidate() string      { return in.Name }
func (in Hidden) candidate() string       { return in.Name }

// Effect is something to be done.
type Effect interface{ effect() }

// The effects.
type (
	// List reads the names of all jobs: Listed or ListFailed.
	List struct{}
	// RetryList is followed by ListChanged after a while.
	RetryList struct{ After time.Duration }
	// FirstListed: the list was read for the first time.
	FirstListed struct{}

	// Look reads the nodes of a definition and follows them: Looked or Refused. Anew: in
	// another session.
	Look struct {
		Name string
		Anew bool
	}
	// Try asks whether the server may run the job that was read, and gets its module: Fits
	// or Refused.
	Try struct{ Name string }
	// Start lets the job run: Ended, or Refused if it could not start.
	Start struct{ Name string }
	// Withdraw ends what Start began: since the registry does not have the job any more
	// (Removed), since this server may not run it (Blockers), or else since the server's
	// own file has the job.
	Withdraw struct {
		Name     string
		Removed  bool
		Blockers []reason.Reason
	}
	// Prefetch prepares the code of a job that runs and was changed, before its next run
	// needs it.
	Prefetch struct{ Name string }
	// KeepShut says that the job was shut down on this server: Refused.
	KeepShut struct{ Name string }
	// Hide takes the job from those that the server shows: Hidden. Forget: nothing of it
	// is left then.
	Hide struct {
		Name   string
		Forget bool
	}
	// Settled: the job does not run as things are. That is said once.
	Settled struct{ Name string }
	// Gone: it is no candidate any more, and another one may come in its place.
	Gone struct{ Name string }
	// Retry is followed by Touched after a while.
	Retry struct {
		Name  string
		After time.Duration
	}
)

func (List) effect()        {}
func (RetryList) effect()   {}
func (FirstListed) effect() {}
func (Look) effect()        {}
func (Try) effect()         {}
func (Start) effect()       {}
func (Withdraw) effect()    {}
func (Prefetch) effect()    {}
func (KeepShut) effect()    {}
func (Hide) effect()        {}
func (Settled) effect()     {}
func (Gone) effect()        {}
func (Retry) effect()       {}
