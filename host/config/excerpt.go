package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/wasmjob/wasmjob/host/job"
)

// Excerpts returns a function that makes a configuration with a single job of text, as Parse has
// read it. It has no other jobs and none of their modules, but all other tables. So requests
// about the jobs of a large file stay small. Its grants have absolute directories, since whoever reads it
// does not have the folder of the file.
func Excerpts(text []byte) (of func(job.Config) (string, error), err error) {
	all := map[string]any{}
	if _, err := toml.Decode(strings.TrimPrefix(string(text), "\ufeff"), &all); err != nil {
		return nil, fmt.Errorf("take single jobs of a configuration: %w", err)
	}
	return func(j job.Config) (string, error) {
		one := maps.Clone(all)
		jobs := only(one, "jobs", j.Name)
		only(one, "modules", j.Module, j.StrategyModule)
		if len(j.Allow.Dirs) > 0 {
			copied(copied(jobs, j.Name), "allow")["dirs"] = entriesOf(j.Allow.Dirs)
		}
		var b strings.Builder
		if err := toml.NewEncoder(&b).Encode(one); err != nil {
			return "", fmt.Errorf("take job %s of a configuration: %w", j.Name, err)
		}
		return b.String(), nil
	}, nil
}

// only drops all tables below a key of a configuration but those with the names, and returns what is left.
func only(all map[string]any, key string, names ...string) map[string]any {
	below, ok := all[key].(map[string]any)
	if !ok {
		return nil
	}
	left := map[string]any{}
	for _, name := range names {
		if table, there := below[name]; there {
			left[name] = table
		}
	}
	all[key] = left
	return left
}

// copied puts a copy of the table at a key in its place, and returns the copy.
func copied(in map[string]any, key string) map[string]any {
	table, _ := in[key].(map[string]any)
	in[key] = maps.Clone(table)
	return in[key].(map[string]any)
}

// entriesOf writes directories as the entries from which they are read.
func entriesOf(dirs []job.Dir) []string {
	var entries []string
	for _, d := range dirs {
		mode := "ro"
		if d.Write {
			mode = "rw"
		}
		entries = append(entries, strings.ReplaceAll(mode+":"+d.Host+":"+d.Guest, "$", "$$"))
	}
	return entries
}
