package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// GrantLimits is the table [host.allow]: the most that this server grants to any job. A job
// asks for grants in a table of the same name.
type GrantLimits = host.GrantLimits

// Tree is one entry of dirs in [host.allow].
type Tree = host.Tree

// grantLimits reads the table [host.allow].
func (b *builder) grantLimits() GrantLimits {
	const path = "host.allow.dirs"
	c := GrantLimits{
		Env:     get(b, []string(nil), "host.allow.env"),
		Clock:   get(b, "", "host.allow.clock"),
		Random:  get(b, false, "host.allow.random"),
		State:   get(b, false, "host.allow.state"),
		Secrets: b.limitSecrets(),
		HTTP:    get(b, []string(nil), "host.allow.http"),

		PrivateHosts: get(b, []string(nil), "host.allow.private_hosts"),
	}
	b.httpGrants("host.allow", c.HTTP)
	b.privateHosts(c.PrivateHosts)
	v := b.values[path]
	for i, entry := range get(b, []string(nil), path) {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty[path+sub] {
			continue
		}
		mode, dir, _ := strings.Cut(entry, ":")
		if mode != "ro" && mode != "rw" || dir == "" {
			b.fault("host.allow", "dirs", sub, reason.Of(reason.GrantUnreadable, strconv.Quote(entry), `"ro:/directory" or "rw:/directory"`))
			continue
		}
		c.Dirs = append(c.Dirs, Tree{Path: b.resolve(v.at, dir), Write: mode == "rw"})
	}
	for at := range b.faulty {
		b.dirLimitFault = b.dirLimitFault || strings.HasPrefix(at, path)
	}
	return c
}

// limitSecrets returns the secrets in [host.allow], which must be names in [host.secrets].
func (b *builder) limitSecrets() []string {
	const path = "host.allow.secrets"
	names := get(b, []string(nil), path)
	known := sortedNames(get(b, map[string]string(nil), "host.secrets"))
	for i, name := range names {
		sub := "[" + strconv.Itoa(i) + "]"
		// Do not report a name twice, or one whose definition has a fault or may be in a file that
		// could not be read.
		if b.faulty[path+sub] || b.broken || b.values["host.secrets"].refused || slices.Contains(known, name) || b.faulty[joinKey("host.secrets", name)] {
			continue
		}
		b.fault("host.allow", "secrets", sub, meantOr(name, known, reason.SecretMeant, reason.Of(reason.SecretUnknown, strconv.Quote(name), quoteKey(name))))
	}
	return names
}

// grants parses the directories in [jobs.<name>.allow], and checks that table against the grant
// limits, unless the job runs on other servers; then their admission checks it. path is the job's
// table, and a its grants.
func (b *builder) grants(path string, a *job.Allow) {
	table := path + ".allow"
	a.Dirs = b.dirsOf(table)
	b.httpGrants(table, a.HTTP)
	if b.elsewhere {
		return
	}
	for _, e := range b.file.Host.Allow.Violations(*a, b.file.private) {
		sub := ""
		switch {
		case e.Place > 0:
			sub = "[" + strconv.Itoa(e.Place-1) + "]"
		case e.Name != "":
			sub = "." + quoteKey(e.Name)
		}
		switch {
		case b.faulty[table+"."+e.Key+sub]: // already reported
		case e.Key == "dirs" && b.dirLimitFault, e.Key == "http" && b.httpFault: // the faulty limit may have been meant to allow it
		default:
			b.fault(table, e.Key, sub, e.Why)
		}
	}
}

// httpGrants checks the grants in the key http of a table. For the grant limits it also notes
// whether one of them has a fault.
func (b *builder) httpGrants(table string, texts []string) {
	for i, text := range texts {
		sub := "[" + strconv.Itoa(i) + "]"
		_, err := outbound.Parse(text)
		if f, wrong := errors.AsType[*outbound.Fault](err); wrong && !b.faulty[table+".http"+sub] {
			b.fault(table, "http", sub, reason.Of(reason.GrantRefused, f.Problem, f.Hint))
		}
	}
	if table == "host.allow" {
		b.httpFault = b.values[table+".http"].refused
		for i := range texts {
			b.httpFault = b.httpFault || b.faulty[table+".http["+strconv.Itoa(i)+"]"]
		}
	}
}

// privateHosts checks the key private_hosts.
func (b *builder) privateHosts(hosts []string) {
	for i, name := range hosts {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty["host.allow.private_hosts"+sub] {
			continue
		}
		c, err := outbound.New(nil, outbound.Options{AllowPrivate: []string{name}})
		if err == nil {
			c.Close()
			continue
		}
		message, hint := err.Error(), `write a name such as "metrics.internal"`
		if f, ok := errors.AsType[*outbound.Fault](err); ok {
			message, hint = f.Problem, f.Hint
		}
		b.fault("host.allow", "private_hosts", sub, reason.Of(reason.GrantRefused, message, hint))
	}
}

// dirsOf reads entries of the form ro:/host/directory:/guest/path.
func (b *builder) dirsOf(table string) []job.Dir {
	var dirs []job.Dir
	path := table + ".dirs"
	for i, entry := range get(b, []string(nil), path) {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty[path+sub] {
			dirs = append(dirs, job.Dir{}) // keeps the indexes of the others
			continue
		}
		d, ok := dirOf(entry)
		switch {
		case !ok:
			b.fault(table, "dirs", sub, reason.Of(reason.GrantUnreadable, strconv.Quote(entry), `"ro:/directory/of/the/server:/path/for/the/guest"`))
		case b.noFile && !filepath.IsAbs(d.Host):
			b.fault(table, "dirs", sub, reason.Of(reason.DirRelative, strconv.Quote(d.Host)))
		default:
			d.Host = b.resolve(b.values[path].at, d.Host)
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// dirOf reads one entry, and returns false if it has another form. Its last colon ends the directory of the
// server, whose name may contain colons.
func dirOf(entry string) (job.Dir, bool) {
	mode, rest, _ := strings.Cut(entry, ":")
	colon := strings.LastIndexByte(rest, ':')
	if mode != "ro" && mode != "rw" || colon <= 0 {
		return job.Dir{}, false
	}
	return job.Dir{Host: rest[:colon], Guest: rest[colon+1:], Write: mode == "rw"}, true
}
