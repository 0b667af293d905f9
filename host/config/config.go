// Package config reads jobs.toml: the settings of one server and the jobs that it
// runs. It holds nothing that changes while the server runs, and opens only the
// files that it is given, and files of secrets on request: no registry, no module.
//
// Flow: Load reads the files (read.go), checks every key against one list
// (schema.go, convert.go), applies the environment (environ.go) and builds a File
// (build.go, registry.go, peer.go, history.go, job.go, grant.go, secret.go). It does not stop
// at the first fault: all are returned together, each with its place (problem.go,
// scan.go).
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

// File is the whole configuration, complete with defaults, all paths absolute and
// every value checked.
type File struct {
	Server   Server
	Registry Registry
	Host     Host
	History  History
	Admin    Admin
	Notify   []Notifier   // ascending by name
	Modules  []Module     // ascending by name
	Jobs     []job.Config // ascending by name

	named   map[string]place
	private []job.Private
	laid    map[string]place // where what is read from elsewhere is named, by dotted path
}

// Server is the table [server].
type Server struct {
	IP           string // address that names this server to others; "" lets the program choose
	DataDir      string
	DrainTimeout time.Duration // how long running items may take to end at a stop
	LogLevel     slog.Level
	LogFormat    string // auto, text, json
	// Labels describe this server to strategies.
	Labels map[string]string
	Peers  Peers
	// MonitorIP is the address of the monitor ports of jobs; "": 127.0.0.1.
	MonitorIP string
}

// The kinds of registry.
const (
	Embedded  = "embedded"
	ZooKeeper = "zookeeper"
)

// Registry is the table [registry].
type Registry struct {
	Kind      string // Embedded or ZooKeeper
	Namespace string
	Layout    string // for jobs that do not say

	// Of ZooKeeper alone. Digest and TLS are fetched by File.Access.
	Servers        []string // host or host:port
	Chroot         string   // "" for none
	SessionTimeout time.Duration
	Digest         Secret // "user:password"; its zero value is none
	TLS            *TLS   // nil: connections are plain
}

// TLS is the table [registry.tls].
type TLS struct {
	CA         string // file of the certificate authorities that may sign the servers' certificates; "" for those of the system
	Cert, Key  string // files of this server's own certificate and key; both or neither
	ServerName string // that the certificates must bear; "" for the name in Servers
}

// Host is the table [host].
type Host struct {
	Allow         GrantLimits
	NativeScripts bool     // jobs may run commands of the operating system
	Memory        int64    // bytes, for all instances together; 0: the sandbox decides
	Workers       int      // how many guests compute at once; 0: the host decides
	ModuleKeys    []string // of minisign, of which one has to have signed each module; none: nobody has to
	Secrets       []Secret // ascending by name
}

// Module is one table [modules.<name>].
type Module struct {
	Name     string
	Path     string   // of the file
	Artifact string   // a reference, as oci://registry.example/report:1.4.0, instead of Path
	SHA256   string   // the digest it must have, lower-case hex; "" for any
	Keys     []string // of minisign, of which one has to have signed it; none: those of Host alone
}

// Options are the sources of values other than the files.
type Options struct {
	// Env is the environment in the form of os.Environ. It serves ${VAR} and
	// the overlay (WASMJOBD_SERVER__DATA_DIR=…).
	Env []string
	// Stdin is the content of the path "-"; nil is an empty file.
	Stdin io.Reader
	// Elsewhere says that the jobs run on other servers, whose [host.allow] counts in place
	// of that of the files.
	Elsewhere bool
	// AfterAny lets a job run after jobs that the files do not have.
	AfterAny bool
}

// Load reads the files at paths as one configuration: later files add to and
// override the earlier ones, as included files do, but a job or a module is
// defined in one place only. "-" reads Options.Stdin. If anything is wrong, the
// error is a Problems with all of it, and the File is nil.
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

const stdin = "<stdin>"

// Parse parses one text; messages contain name, and relative paths start at its
// folder. It reads no files: "include" is refused.
func Parse(name string, text []byte, o Options) (*File, error) {
	r := newReader(o)
	s := source{name: name, dir: filepath.Dir(name), text: string(text)}
	if include := r.add(s); include.is != nil {
		r.report(include.at.problem("include", reason.Of(reason.IncludeImpossible)))
	}
	return r.finish()
}

// load reads the file at path, unless it was read before, and what it includes.
func (r *reader) load(path string, read map[string]bool) {
	if !first(path, read) {
		return
	}
	if s, ok := r.open(path); ok {
		r.follow(s, read)
	}
}

// follow adds s and the files that it includes. Those may not include others: with
// one level it is easy to find where a key comes from.
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

// match lists the files of one pattern, ascending.
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

// finish lays the environment over what was read and builds the File.
func (r *reader) finish() (*File, error) {
	r.overlay()
	b := &builder{reader: r}
	f := b.build()
	if len(r.problems) > 0 {
		return nil, r.problems.sorted(r.order)
	}
	return f, nil
}
