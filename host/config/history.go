package config

import (
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/host/reason"
)

// History is the table [history]: where rows are stored, and how long.
type History struct {
	Path     string // of the SQLite file; "" if there is an address
	Address  string // postgres:// or mysql://, with user, host and database but without a password; "" for a file
	Password Secret // of the user in Address, loaded by File.HistoryPassword; the zero value is none
	// ElasticJob makes servers also write the tables of ElasticJob's event trace.
	ElasticJob bool
	Age        time.Duration // older rows are deleted; 0: none
	PerJob     int           // number of rows kept per job; 0: all
	Size       int64         // limit in bytes, beyond which the oldest rows are deleted; 0: none
}

// rootCert is the option in an address that names the file with the authority for the
// database's certificate.
const rootCert = "sslrootcert"

// protection describes how an address asks for protected connections: an option, its values
// from the strictest on, and how many of these check the certificate.
type protection struct {
	option   string
	modes    []string
	verifies int
}

func protections() map[string]protection {
	return map[string]protection{
		"postgres": {"sslmode", []string{"verify-full", "verify-ca", "require", "prefer", "allow", "disable"}, 2},
		"mysql":    {"tls", []string{"true", "preferred", "skip-verify", "false"}, 1},
	}
}

// history reads the table [history]. Without dsn, the history is a file in the data directory,
// which has no password and no tables of ElasticJob.
func (b *builder) history() {
	h := History{
		Path:   filepath.Join(b.file.Server.DataDir, historyFile),
		Age:    get(b, time.Duration(0), "history.retention.age"),
		PerJob: int(get(b, int64(0), "history.retention.per_job")),
		Size:   get(b, int64(0), "history.retention.size"),
	}
	if dsn := get(b, "", "history.dsn"); b.isSet("history.dsn") && !b.values["history.dsn"].refused {
		h.Path, h.Address = b.dsn(dsn)
	}
	// Both are empty if dsn was refused. Then nothing more is reported.
	if v := b.values["history.password"]; b.isSet("history.password") && !v.refused {
		h.Password, _ = b.secret("history", "password", "", get(b, "", "history.password"))
		if h.Address == "" && h.Path != "" {
			b.fault("history", "password", "", reason.Of(reason.PasswordOfFile))
		}
	}
	if h.ElasticJob = get(b, false, "history.elasticjob_tables"); h.ElasticJob && h.Address == "" && h.Path != "" {
		b.fault("history", "elasticjob_tables", "", reason.Of(reason.TablesInFile))
	}
	b.file.History = h
}

// dsn reads sqlite://relative/path, sqlite:///absolute/path, or the address of a database
// server. No message repeats it, as it may contain a password.
func (b *builder) dsn(dsn string) (path, address string) {
	refuse := func(why reason.Reason) { b.fault("history", "dsn", "", why) }
	scheme, path, ok := strings.Cut(dsn, "://")
	switch {
	case !ok:
		refuse(reason.Of(reason.DatabaseSchemeless))
	case scheme == "postgresql":
		return b.dsn("postgres://" + path)
	case scheme == "postgres", scheme == "mysql":
		return "", b.address(scheme, dsn)
	case scheme != "sqlite":
		refuse(reason.Of(reason.DatabaseUnknown, strconv.Quote(scheme)))
	case path == "" || strings.ContainsAny(path, "?#"):
		refuse(reason.Of(reason.DatabasePath))
	default:
		return b.resolve(b.values["history.dsn"].at, path), ""
	}
	return "", ""
}

// address checks the address of a database server and returns it with an absolute path to the
// file with its authority. If it has a fault, address reports that and returns "".
func (b *builder) address(scheme, dsn string) string {
	refuse := func(why reason.Reason) string {
		b.fault("history", "dsn", "", why)
		return ""
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return refuse(reason.Of(reason.DatabaseAddress, scheme))
	}
	if _, has := u.User.Password(); has {
		return refuse(reason.Of(reason.DatabasePassword))
	}
	name, host := strings.TrimPrefix(u.Path, "/"), u.Hostname()
	if u.Port() != "" {
		host = u.Host // with the port, which isServer checks as well
	}
	if user := u.User.Username(); user == "" || strings.Contains(user, ":") || !isServer(host) || name == "" || strings.ContainsAny(name, "/\x00") || u.Fragment != "" {
		return refuse(reason.Of(reason.DatabaseAddress, scheme))
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse(reason.Of(reason.DatabaseAddress, scheme))
	}
	if why := suits(protections()[scheme], options); why.Code != "" {
		return refuse(why)
	}
	if path := options.Get(rootCert); path != "" && !filepath.IsAbs(path) {
		options.Set(rootCert, b.resolve(b.values["history.dsn"].at, path))
		u.RawQuery = options.Encode()
		return u.String()
	}
	return dsn
}

// suits refuses options of an address that the driver would refuse, and an authority for
// certificates that the mode does not check. It returns no reason if all is well.
func suits(p protection, options url.Values) reason.Reason {
	known := []string{p.option, rootCert}
	for _, option := range sortedNames(options) {
		if !slices.Contains(known, option) || len(options[option]) != 1 {
			return reason.Of(reason.DatabaseOption, strconv.Quote(option), strings.Join(known, ", "))
		}
	}
	mode := options.Get(p.option)
	switch {
	case options.Has(p.option) && !slices.Contains(p.modes, mode):
		return reason.Of(reason.DatabaseValue, p.option, strconv.Quote(mode), strings.Join(p.modes, ", "))
	case options.Has(rootCert) && !slices.Contains(p.modes[:p.verifies], mode):
		return reason.Of(reason.DatabaseUnverified, p.option+"="+p.modes[0])
	}
	return reason.Reason{}
}

// HistoryPassword returns the password for the user in the address of the history; "" if there
// is none. The error is a Problems.
func (f *File) HistoryPassword(env []string) (string, error) {
	if f.History.Password == (Secret{}) {
		return "", nil
	}
	password, err := f.History.Password.fetch(newEnvironment(env))
	if err != nil {
		return "", Problems{f.absent("history.password", reason.NamedAbsent, err)}
	}
	return password, nil
}
