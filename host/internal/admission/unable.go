package admission

import (
	"reflect"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Settings are a job's settings together with the server's view of them.
type Settings struct {
	Job  job.Config
	File *job.Config // the job in the server's own file; nil if it is not there
	// Cron says why the job's cron cannot be used, and Strategy why its strategy cannot.
	Cron, Strategy error
	Modules        bool // the server would run a module for the job, not the embedder's code
	// Violations returns the grant violations: what the job requests but the server does
	// not grant to jobs defined elsewhere. It is called only if that matters, because it
	// compares directories on disk.
	Violations func() []reason.Reason
}

// Unable returns the settings of a job that the server cannot, or must not, carry out.
// For a job of the server's own file it checks only changes by the registry: the file was
// validated when it was read.
func Unable(s *Settings) []reason.Reason {
	var all []reason.Reason
	invalid := func(err error) { all = append(all, Invalid(err)...) }
	j := &s.Job
	if s.File == nil {
		invalid(j.Validate())
	}
	invalid(s.Cron)
	if s.File == nil {
		if j.Class == "" { // otherwise members of ElasticJob may know it
			invalid(s.Strategy)
		}
		if s.Modules && j.ModuleDigest == "" && j.Command == "" {
			all = append(all, reason.Of(reason.DigestMissing))
		}
	}
	return append(all, Refused(s)...)
}

// Invalid splits joined errors into reasons why a job is invalid on this server.
func Invalid(err error) []reason.Reason {
	if err == nil {
		return nil
	}
	var all []reason.Reason
	for line := range strings.SplitSeq(err.Error(), "\n") {
		all = append(all, reason.Of(reason.InvalidHere, line))
	}
	return all
}

// Refused returns what the job requests but the server must not give: write access to the
// registry must not suffice to run programs on every server.
func Refused(s *Settings) []reason.Reason {
	j := &s.Job
	switch {
	case j.Command != "" && (s.File == nil || j.Command != s.File.Command):
		return []reason.Reason{reason.Of(reason.CommandNotInFile)}
	case s.File != nil && reflect.DeepEqual(plain(j.Allow), plain(s.File.Allow)):
		return nil
	}
	return s.Violations()
}

// plain returns a with every empty list as nil, as a list from a file and one from the
// registry may differ in that alone.
func plain(a job.Allow) job.Allow {
	if len(a.Dirs) == 0 {
		a.Dirs = nil
	}
	if len(a.Env) == 0 {
		a.Env = nil
	}
	if len(a.Secrets) == 0 {
		a.Secrets = nil
	}
	if len(a.HTTP) == 0 {
		a.HTTP = nil
	}
	return a
}
