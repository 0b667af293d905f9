package config

import (
	"fmt"
	"maps"
	"strings"

	"github.com/BurntSushi/toml"
)

// Excerpts returns a function that makes a configuration with a single job of text, which Parse
// has accepted. It has no other jobs and none of their modules, but all other tables. So requests
// about the jobs of a large file stay small.
func Excerpts(text []byte) (of func(job string) (string, error), err error) {
	all := map[string]any{}
	if _, err := toml.Decode(strings.TrimPrefix(string(text), "\ufeff"), &all); err != nil {
		return nil, fmt.Errorf("take single jobs of a configuration: %w", err)
	}
	return func(job string) (string, error) {
		one := maps.Clone(all)
		jobs := only(one, "jobs", job)
		defaults, _ := one["defaults"].(map[string]any)
		var modules []string // that the job may have
		for _, table := range []any{jobs[job], defaults} {
			settings, _ := table.(map[string]any)
			for _, key := range []string{"module", "strategy_module"} {
				if name, ok := settings[key].(string); ok {
					modules = append(modules, name)
				}
			}
		}
		only(one, "modules", modules...)
		var b strings.Builder
		if err := toml.NewEncoder(&b).Encode(one); err != nil {
			return "", fmt.Errorf("take job %s of a configuration: %w", job, err)
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
