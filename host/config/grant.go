package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/outbound"
	"github.com/wasmjob/wasmjob/host/job"
)

// Ceiling is the table [host.allow]: the most that this server grants to any
// job. The zero value grants nothing. Jobs ask with a table of the same name;
// asking for more is an error, not a smaller grant.
type Ceiling struct {
	Dirs    []Tree
	Env     []string // names of variables
	Clock   string   // "" or "fixed": no real time; "real": it may be granted
	Random  bool
	State   bool
	Secrets []string // names
	HTTP    []string // as in job.Allow
	// PrivateHosts are names, or patterns "*.name", that HTTP may reach although
	// they lead to this machine or into a private network.
	PrivateHosts []string
}

// Tree is a directory of the server with all that is below it.
type Tree struct {
	Path  string // absolute
	Write bool   // may be granted for writing, too
}

func (b *builder) ceiling() Ceiling {
	const path = "host.allow.dirs"
	c := Ceiling{
		Env:     get(b, []string(nil), "host.allow.env"),
		Clock:   get(b, "", "host.allow.clock"),
		Random:  get(b, false, "host.allow.random"),
		State:   get(b, false, "host.allow.state"),
		Secrets: b.ceilingSecrets(),
		HTTP:    get(b, []string(nil), "host.allow.http"),

		PrivateHosts: get(b, []string(nil), "host.allow.private_hosts"),
	}
	b.httpCeiling = b.httpGrants("host.allow", c.HTTP)
	b.privateHosts(c.PrivateHosts)
	v := b.values[path]
	for i, entry := range get(b, []string(nil), path) {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty[path+sub] {
			continue
		}
		mode, dir, _ := strings.Cut(entry, ":")
		if mode != "ro" && mode != "rw" || dir == "" {
			b.fault("host.allow", "dirs", sub, CodeValue, strconv.Quote(entry)+" is not a grant", `write "ro:/directory" or "rw:/directory"`)
			continue
		}
		c.Dirs = append(c.Dirs, Tree{Path: b.resolve(v.at, dir), Write: mode == "rw"})
	}
	for at := range b.faulty {
		b.ceilingFault = b.ceilingFault || strings.HasPrefix(at, path)
	}
	return c
}

// ceilingSecrets are names of [host.secrets].
func (b *builder) ceilingSecrets() []string {
	const path = "host.allow.secrets"
	names := get(b, []string(nil), path)
	known := sortedNames(get(b, map[string]string(nil), "host.secrets"))
	for i, name := range names {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty[path+sub] || b.broken || b.values["host.secrets"].refused || slices.Contains(known, name) || b.faulty[joinKey("host.secrets", name)] {
			continue
		}
		hint := fmt.Sprintf(`add %s = "env:NAME" to [host.secrets]`, quoteKey(name))
		if near := Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		b.fault("host.allow", "secrets", sub, CodeReference, "there is no secret "+strconv.Quote(name), hint)
	}
	return names
}

// grants reads [jobs.<name>.allow] and holds it against the ceiling.
func (b *builder) grants(path string) job.Allow {
	table := path + ".allow"
	most := b.file.Host.Allow
	a := job.Allow{
		Dirs:    b.dirsOf(table),
		Env:     get(b, map[string]string(nil), table+".env"),
		Clock:   get(b, "", table+".clock"),
		Random:  get(b, false, table+".random"),
		State:   get(b, false, table+".state"),
		Secrets: get(b, []string(nil), table+".secrets"),
		HTTP:    get(b, []string(nil), table+".http"),
	}
	above := func(key, sub, what, hint string) {
		b.fault(table, key, sub, CodeGrant, what+" is more than [host.allow] gives", hint)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Env)) {
		if !slices.Contains(most.Env, name) {
			above("env", "."+quoteKey(name), "the variable "+name, fmt.Sprintf("add %q to env in [host.allow]", name))
		}
	}
	if a.Clock == "real" && most.Clock != "real" {
		above("clock", "", "the real clock", `write clock = "real" in [host.allow]`)
	}
	if a.Random && !most.Random {
		above("random", "", "randomness", "write random = true in [host.allow]")
	}
	if a.State && !most.State {
		above("state", "", "state", "write state = true in [host.allow]")
	}
	for i, name := range a.Secrets {
		sub := "[" + strconv.Itoa(i) + "]"
		if !b.faulty[table+".secrets"+sub] && !slices.Contains(most.Secrets, name) {
			above("secrets", sub, "the secret "+strconv.Quote(name), fmt.Sprintf("add %q to secrets in [host.allow]", name))
		}
	}
	for i, g := range b.httpGrants(table, a.HTTP) {
		sub := "[" + strconv.Itoa(i) + "]"
		if !b.faulty[table+".http"+sub] && !b.httpFault && !g.Within(b.httpCeiling) {
			above("http", sub, g.String(), fmt.Sprintf("add %q to http in [host.allow]", g))
		}
	}
	return a
}

// httpGrants reads the key http of a table of grants. One that is wrong has a
// stand-in, so that the others keep their index.
func (b *builder) httpGrants(table string, texts []string) []outbound.Grant {
	var grants []outbound.Grant
	for i, text := range texts {
		sub := "[" + strconv.Itoa(i) + "]"
		g, err := outbound.Parse(text)
		if f, wrong := errors.AsType[*outbound.Fault](err); wrong && !b.faulty[table+".http"+sub] {
			b.fault(table, "http", sub, CodeValue, f.Problem, f.Hint)
		}
		grants = append(grants, g)
	}
	if table == "host.allow" {
		b.httpFault = b.values[table+".http"].refused
		for i := range texts {
			b.httpFault = b.httpFault || b.faulty[table+".http["+strconv.Itoa(i)+"]"]
		}
	}
	return grants
}

// privateHosts checks the list of them.
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
		b.fault("host.allow", "private_hosts", sub, CodeValue, message, hint)
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
		mode, rest, _ := strings.Cut(entry, ":")
		colon := strings.LastIndexByte(rest, ':')
		if mode != "ro" && mode != "rw" || colon <= 0 {
			b.fault(table, "dirs", sub, CodeValue, strconv.Quote(entry)+" is not a grant", `write "ro:/directory/of/the/server:/path/for/the/guest"`)
			dirs = append(dirs, job.Dir{})
			continue
		}
		d := job.Dir{Host: b.resolve(b.values[path].at, rest[:colon]), Guest: rest[colon+1:], Write: mode == "rw"}
		switch {
		case d.Write && (below(d.Host, b.file.Server.DataDir) || below(b.file.Server.DataDir, d.Host)):
			// Compiled code is kept there, and executed.
			b.fault(table, "dirs", sub, CodeGrant, "no job may write where this server keeps its own data, "+b.file.Server.DataDir, "give it a directory beside that")
		case !b.covered(d):
			what := "the directory " + d.Host
			if d.Write {
				what = "writing to " + what
			}
			b.fault(table, "dirs", sub, CodeGrant, what+" is more than [host.allow] gives",
				fmt.Sprintf("add %q to dirs in [host.allow]", mode+":"+d.Host))
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// covered reports whether the directory is one of the ceiling's directories or below
// one. Links are not followed here; the sandbox lets nobody leave a directory.
// A ceiling that has faults covers everything: it may be meant to.
func (b *builder) covered(d job.Dir) bool {
	return b.ceilingFault || slices.ContainsFunc(b.file.Host.Allow.Dirs, func(top Tree) bool {
		return (top.Write || !d.Write) && below(top.Path, d.Host)
	})
}

// below reports whether dir is top or lies below it.
func below(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && filepath.IsLocal(rel)
}
