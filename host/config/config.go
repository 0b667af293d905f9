// Package config reads jobs.toml: the settings of one server and the jobs that it runs. It
// holds nothing that changes while the server runs. It opens only the files that it is given
// and, on request, files of secrets; it opens no registry and no module.
//
// Flow: Load reads the files (read.go), checks every key against one list (schema.go,
// convert.go), applies the environment (environ.go) and builds a File (build.go, registry.go,
// peer.go, history.go, job.go, grant.go, secret.go). It does not stop at the first fault: all
// are returned together, each with its place (problem.go, scan.go).
package config

import (
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// File is the whole configuration, with defaults filled in, absolute paths, and every value
// checked.
type File struct {
	Server   Server
	Registry Registry
	Host     Host
	History  History
	Admin    Admin
	Notify   []Notifier   // sorted by name
	Modules  []Module     // sorted by name
	Jobs     []job.Config // sorted by name

	named   map[string]place // where each job, module, notifier and calendar is defined
	private []job.Private    // see Private
	laid    map[string]place // places of what is read or loaded later, by dotted key
}

// Server is the table [server].
type Server struct {
	IP           string // address that identifies this server; "": the program chooses it
	DataDir      string
	DrainTimeout time.Duration // how long running items may take to end when the server stops
	LogLevel     slog.Level
	LogFormat    string // auto, text or json
	// Labels describe this server to strategies.
	Labels map[string]string
	Peers  Peers
	// MonitorIP is the address of the monitor ports of jobs; "": 127.0.0.1.
	MonitorIP string
}

// Kinds of registry.
const (
	Embedded  = "embedded"
	ZooKeeper = "zookeeper"
)

// Registry is the table [registry].
type Registry struct {
	Kind      string // Embedded or ZooKeeper
	Namespace string
	Layout    string // of jobs that do not set one

	// The following are for ZooKeeper only. File.Access loads Digest and TLS.
	Servers        []string // host or host:port
	Chroot         string   // "": none
	SessionTimeout time.Duration
	Digest         Secret // "user:password"; the zero value is none
	TLS            *TLS   // nil: plain connections
}

// TLS is the table [registry.tls].
type TLS struct {
	CA         string // file with the certificate authorities for the servers' certificates; "": those of the system
	Cert, Key  string // files of this server's own certificate and key; both or neither
	ServerName string // name that the certificates must have; "": the name in Servers
}

// Host is the table [host].
type Host struct {
	Allow         GrantLimits
	NativeScripts bool     // jobs may run commands of the operating system
	Memory        int64    // limit in bytes for all instances together; 0: the sandbox decides
	Workers       int      // guests that compute at once; 0: the host decides
	ModuleKeys    []string // minisign keys, of which one must have signed each module; without any, no signature is needed
	Secrets       []Secret // sorted by name
}

// Module is one table [modules.<name>].
type Module struct {
	Name     string
	Path     string   // of the file
	Artifact string   // a reference like oci://registry.example/report:1.4.0, instead of Path
	SHA256   string   // required digest, in lower-case hex; "": any
	Keys     []string // minisign keys, of which one must have signed it; without any, only those of Host count
}

// Options are sources of values besides the files.
type Options struct {
	// Env is the environment in the form of os.Environ. It is used for ${VAR} and for the
	// overlay (WASMJOBD_SERVER__DATA_DIR=…).
	Env []string
	// Stdin is the content of the path "-"; nil is an empty file.
	Stdin io.Reader
	// Elsewhere says that the jobs run on other servers, so the [host.allow] and [notify] of
	// these files do not limit them.
	Elsewhere bool
	// AfterAny allows jobs to run after jobs that these files do not have.
	AfterAny bool
	// NoFile says that a text comes from no file. A relative directory of a grant is refused then, since there is
	// no folder at which it starts.
	NoFile bool
	// Kind and Layout are those of [registry] if the files do not set them; "": Embedded and layout 2.1.
	Kind, Layout string
}

// Load reads the files at paths as one configuration. Later files add to and override earlier
// ones, and so do included files, but a job or a module may be defined in one place only. "-"
// reads Options.Stdin. If anything is wrong, the error is a Problems with all faults, and the
// File is nil.
func Load(paths []string, o Options) (*File, error) {
	if o.Stdin == nil {
		o.Stdin = strings.NewReader("")
	}
	r := newReader(o)
	read := map[string]bool{}
	for _, path := range paths {
		if path != "-" {
			r.load(path, read)
			continue
		}
		text, err := readText(o.Stdin)
		if err != nil {
			r.report(place{file: stdin}.problem("", reason.Of(reason.StdinUnreadable, plainError(err))))
			continue
		}
		r.follow(source{name: stdin, text: text}, read)
	}
	return r.finish()
}

// stdin is what messages call the text of Options.Stdin.
const stdin = "<stdin>"

// Parse parses one text. Messages contain name, and relative paths start at its folder. It
// reads no files: "include" is refused.
func Parse(name string, text []byte, o Options) (*File, error) {
	r := newReader(o)
	s := source{name: name, dir: filepath.Dir(name), text: string(text)}
	if include := r.add(s); include.is != nil {
		r.report(include.at.problem("include", reason.Of(reason.IncludeImpossible)))
	}
	return r.finish()
}

// load reads the file at path, unless it was read before, and the files that it includes. read has
// the files that were read, by absolute path.
func (r *reader) load(path string, read map[string]bool) {
	if !first(path, read) {
		return
	}
	if s, ok := r.open(path); ok {
		r.follow(s, read)
	}
}

// follow adds s and the files that it includes. Those may not include others: with one level,
// the origin of a key is easy to find.
func (r *reader) follow(s source, read map[string]bool) {
	include := r.add(s)
	patterns, _ := include.is.([]string)
	for i, pattern := range patterns {
		at := include.inside["["+strconv.Itoa(i)+"]"]
		if pattern == "" {
			if name := "include[" + strconv.Itoa(i) + "]"; !r.faulty[name] {
				r.report(at.problem(name, reason.Of(reason.PathEmpty)))
			}
			r.broken = true
			continue
		}
		for _, path := range r.match(s.dir, pattern, at) {
			if !first(path, read) {
				continue
			}
			if len(read) > maxFiles {
				r.report(at.problem("include", reason.Of(reason.TooManyFiles, strconv.Itoa(maxFiles))))
				return
			}
			inner, ok := r.openIncluded(path)
			if !ok {
				continue
			}
			if nested := r.add(inner); nested.at.file != "" {
				r.report(nested.at.problem("include", reason.Of(reason.IncludeNested, s.name)))
			}
		}
	}
}

// match returns the files that match a pattern, sorted. dir is the folder of the file that
// includes them, and at the place of the pattern there. A pattern may match none, but a plain
// path must exist.
func (r *reader) match(dir, pattern string, at place) []string {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(dir, pattern)
	}
	paths, err := filepath.Glob(pattern)
	switch {
	case err != nil:
		r.report(at.problem("include", reason.Of(reason.IncludePattern)))
	case len(paths) == 0 && !strings.ContainsAny(pattern, `*?[`):
		r.broken = true
		r.report(at.problem("include", reason.Of(reason.FileMissing, pattern)))
	}
	slices.Sort(paths)
	return paths
}

// first reports whether path was not read before, and records it.
func first(path string, read map[string]bool) bool {
	if full, err := filepath.Abs(path); err == nil {
		path = full
	}
	if read[path] {
		return false
	}
	read[path] = true
	return true
}

// finish applies the environment to the values and builds the File. It returns all problems
// found so far, or the File.
func (r *reader) finish() (*File, error) {
	r.overlay()
	b := &builder{reader: r}
	f := b.build()
	if len(r.problems) > 0 {
		return nil, r.problems.sorted(r.order)
	}
	return f, nil
}
