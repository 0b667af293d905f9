package admission

import (
	"reflect"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// Settings are a job's settings, and how one server takes them.
type Settings struct {
	Job  job.Config
	File *job.Config // the job in the server's own file; nil: it is not there
	// Cron is why the job's cron cannot be used, Strategy why its strategy cannot.
	Cron, Strategy error
	Modules        bool // the server runs a module for the job, and not what its embedder brings
	// Violations are what the job asks for and the server does not grant to jobs that
	// others define. It is asked only if that matters: directories are compared on disk.
	Violations func() []reason.Reason
}

// Unable is what of a job's settings the server cannot, or must not, carry out. What
// the server's own file says is not questioned here but for what the registry has
// changed: the file was validated when it was read.
func Unable(s *Settings) []reason.Reason {
	var all []reason.Reason
	invalid := func(err error) { all = append(all, Invalid(err)...) }
	j := &s.Job
	if s.File == nil {
		invalid(j.Validate())
	}
	invalid(s.Cron)
	if s.File == nil {
		if j.Class == "" { // else members of ElasticJob may know it
			invalid(s.Strategy)
		}
		if s.Modules && j.ModuleDigest == "" && j.Command == "" {
			all = append(all, reason.Of(reason.DigestMissing))
		}
	}
	return append(all, Refused(s)...)
}

// Invalid takes joined errors apart: what is wrong with a job on this server.
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

// Refused is what the job asks for that the server must not give. Who may write to the
// registry may not thereby run programs on every server.
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

// plain is a with one way to say that nothing is granted.
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
