package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
)

// Ceiling is the table [host.allow]: the most that this server grants to any
// job. The zero value grants nothing. Jobs ask with a table of the same name;
// asking for more is an error, not a smaller grant.
type Ceiling struct {
	Dirs   []string // host directories, absolute; what is below them is included
	Env    []string // names of variables
	Clock  string   // "" or "fixed": no real time; "real": it may be granted
	Random bool
}

func (b *builder) ceiling() Ceiling {
	const path = "host.allow.dirs"
	c := Ceiling{
		Env:    get(b, []string(nil), "host.allow.env"),
		Clock:  get(b, "", "host.allow.clock"),
		Random: get(b, false, "host.allow.random"),
	}
	v := b.values[path]
	for i, entry := range get(b, []string(nil), path) {
		sub := "[" + strconv.Itoa(i) + "]"
		if b.faulty[path+sub] {
			continue
		}
		mode, dir, _ := strings.Cut(entry, ":")
		if mode != "ro" && mode != "rw" || dir == "" {
			b.fault("host.allow", "dirs", sub, CodeValue, strconv.Quote(entry)+" is not a grant", `write "ro:/directory"`)
			continue
		}
		if mode == "rw" {
			b.fault("host.allow", "dirs", sub, CodeRelease, "directories are read-only in this release", "write ro: instead of rw:")
			continue
		}
		c.Dirs = append(c.Dirs, b.resolve(v.at, dir))
	}
	for at := range b.faulty {
		b.ceilingFault = b.ceilingFault || strings.HasPrefix(at, path)
	}
	return c
}

// grants reads [jobs.<name>.allow] and holds it against the ceiling.
func (b *builder) grants(path string) job.Allow {
	table := path + ".allow"
	most := b.file.Host.Allow
	a := job.Allow{
		Dirs:   b.dirsOf(table),
		Env:    get(b, map[string]string(nil), table+".env"),
		Clock:  get(b, "", table+".clock"),
		Random: get(b, false, table+".random"),
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
	return a
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
		if !d.Write && !b.covered(d.Host) {
			b.fault(table, "dirs", sub, CodeGrant, "the directory "+d.Host+" is more than [host.allow] gives",
				fmt.Sprintf("add %q to dirs in [host.allow]", "ro:"+d.Host))
		}
		dirs = append(dirs, d)
	}
	return dirs
}

// covered reports whether dir is one of the ceiling's directories or below
// one. Links are not followed here; the sandbox lets nobody leave a directory.
// A ceiling that has faults covers everything: it may be meant to.
func (b *builder) covered(dir string) bool {
	return b.ceilingFault || slices.ContainsFunc(b.file.Host.Allow.Dirs, func(top string) bool {
		rel, err := filepath.Rel(top, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}
