package discovery

import (
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// Input is an event.
type Input interface{ input() }

// The inputs about all jobs.
type (
	// ListChanged says that the list of jobs may have changed.
	ListChanged struct{}
	// Listed answers List.
	Listed struct{ Names []string }
	// ListFailed also answers List.
	ListFailed struct{}
	// FileHas says that the server's own file has the job from now on. A candidate of
	// that name ends; Gone tells when.
	FileHas struct{ Name string }
	// FileLost says that the file no longer has the job, and the job has left the server.
	FileLost struct{ Name string }
	// Reported says that the result of Undefined was reported. Lost is the result of the
	// preceding UndefinedDue.
	Reported struct{ Lost []string }
	// Stop says that the server stops. Operations are still answered.
	Stop struct{}
)

// CandidateInput is an input about one candidate. It has no effect if there is no such
// candidate.
type CandidateInput interface {
	Input
	candidate() string
}

// The inputs about one candidate.
type (
	// Touched says that the definition may have changed, or that it is time to retry, or,
	// with Members, that other members may have the module.
	Touched struct {
		Name    string
		Members bool
	}
	// SessionEnded says that another session is needed to read the definition.
	SessionEnded struct{ Name string }
	// Looked answers Look.
	Looked struct {
		Name string
		// Config and Module say which nodes of the definition exist. Created is the
		// creation time of the configuration: one that is created again is another job.
		Config, Module bool
		Created        int64
	}
	// Fits answers Try: the server may and can run the job.
	Fits struct{ Name string }
	// Refused answers Look, Try, Start and KeepShut: the job does not run. With Again it
	// may run later, even if nothing else changes.
	Refused struct {
		Name  string
		Again bool
	}
	// Ended answers Start: the job ran and has ended. Asked says that the server wanted
	// that; otherwise an operator has shut the job down on this server.
	Ended struct {
		Name  string
		Asked bool
	}
	// Changed says that the runner of a job has read its definition again. Removed: the
	// registry no longer has the job. Same: its configuration has not changed. Blockers
	// are the reasons why this server may no longer run it.
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

// Effect is an action for package finder.
type Effect interface{ effect() }

// The effects.
type (
	// List reads the names of all jobs. The answer is Listed or ListFailed.
	List struct{}
	// RetryList requests ListChanged after a pause.
	RetryList struct{ After time.Duration }
	// FirstListed says that the list was read for the first time.
	FirstListed struct{}

	// Look reads and follows the nodes of a definition. With Anew it uses another
	// session. The answer is Looked or Refused.
	Look struct {
		Name string
		Anew bool
	}
	// Try checks whether the server may run the job that was read, and gets its module.
	// The answer is Fits or Refused.
	Try struct{ Name string }
	// Start starts the job. The answer is Ended, or Refused if it could not start.
	Start struct{ Name string }
	// Withdraw ends a started job because the registry no longer has it (Removed),
	// because this server may not run it (Blockers), or else because the server's own
	// file has it.
	Withdraw struct {
		Name     string
		Removed  bool
		Blockers []reason.Reason
	}
	// Prefetch prepares the code of a running job that was changed before its next run
	// needs it.
	Prefetch struct{ Name string }
	// KeepShut shows that the job was shut down on this server. The answer is Refused.
	KeepShut struct{ Name string }
	// Hide removes the job from the list that the server shows. With Forget nothing of it
	// remains. The answer is Hidden.
	Hide struct {
		Name   string
		Forget bool
	}
	// Settled says, once, that the job does not run for now.
	Settled struct{ Name string }
	// Gone says that the job is no longer a candidate; another one may take its place.
	Gone struct{ Name string }
	// Retry requests Touched after a pause.
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
