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
// about the jobs of a large file stay small.
func Excerpts(text []byte) (of func(job.Config) (string, error), err error) {
	all := map[string]any{}
	if _, err := toml.Decode(strings.TrimPrefix(string(text), "\ufeff"), &all); err != nil {
		return nil, fmt.Errorf("take single jobs of a configuration: %w", err)
	}
	return func(j job.Config) (string, error) {
		one := maps.Clone(all)
		only(one, "jobs", j.Name)
		only(one, "modules", j.Module, j.StrategyModule)
		var b strings.Builder
		if err := toml.NewEncoder(&b).Encode(one); err != nil {
			return "", fmt.Errorf("take job %s of a configuration: %w", j.Name, err)
		}
		return b.String(), nil
	}, nil
}

// only drops all tables below a key of a configuration but those with the names.
func only(all map[string]any, key string, names ...string) {
	below, ok := all[key].(map[string]any)
	if !ok {
		return
	}
	left := map[string]any{}
	for _, name := range names {
		if table, there := below[name]; there {
			left[name] = table
		}
	}
	all[key] = left
}
