package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/internal/nearest"
)

// builtin is a strategy that comes with the program, and how it is spelled.
type builtin struct {
	assign Func
	class2 string   // class of ElasticJob 2.1
	type3  string   // type of ElasticJob 3, which alone its configuration may have
	class3 string   // class of ElasticJob 3
	short  []string // ours; the first is the one to recommend
}

// builtins returns the built-in strategies with all their names.
func builtins() []builtin {
	const (
		classes2 = "com.dangdang.ddframe.job.lite.api.strategy.impl."
		classes3 = "org.apache.shardingsphere.elasticjob.infra.handler.sharding.impl."
	)
	return []builtin{
		{Average, classes2 + "AverageAllocationJobShardingStrategy", "AVG_ALLOCATION", classes3 + "AverageAllocationJobShardingStrategy", []string{"average"}},
		{Odevity, classes2 + "OdevitySortByNameJobShardingStrategy", "ODEVITY", classes3 + "OdevitySortByNameJobShardingStrategy", []string{"odevity"}},
		{Rotate, classes2 + "RotateServerByNameJobShardingStrategy", "ROUND_ROBIN", classes3 + "RoundRobinByNameJobShardingStrategy", []string{"rotate", "round-robin", "round_robin"}},
	}
}

// spellings returns all names of the strategy.
func (b builtin) spellings() []string {
	return append(slices.Clone(b.short), b.type3, b.class2, b.class3)
}

// Named returns the built-in strategy with that name: a class name of ElasticJob
// 2.1 or 3, a type of ElasticJob 3, or a short name, all case-sensitive. The empty
// name is average. For any other name the error lists the known ones.
func Named(name string) (Strategy, error) {
	if name == "" {
		return Func(Average), nil
	}
	for _, b := range builtins() {
		if slices.Contains(b.spellings(), name) {
			return b.assign, nil
		}
	}
	return nil, unknown(name)
}

// Names returns the recommended names of the built-in strategies.
func Names() []string {
	var names []string
	for _, b := range builtins() {
		names = append(names, b.short[0])
	}
	return names
}

// unknown returns the error for a name of no strategy, with the one that was
// probably meant.
func unknown(name string) error {
	const longest = 200 // of a name in a message; names come from the registry too
	shown := name
	if len(shown) > longest {
		shown = shown[:longest] + "…"
	}
	known := strings.Join(Names(), ", ")
	if near := meant(name); near != "" {
		return fmt.Errorf("unknown strategy %q: did you mean %q? (there are %s)", shown, near, known)
	}
	return fmt.Errorf("unknown strategy %q: there are %s, and their class and type names of ElasticJob", shown, known)
}

// meant returns the spelling that name was probably meant to be, or "". A class
// name is recognised by its last part, because packages were moved between
// versions.
func meant(name string) string {
	var lasts []string
	spelled := map[string]string{}
	for _, b := range builtins() {
		for _, s := range b.spellings() {
			last := lastPart(s)
			lasts, spelled[last] = append(lasts, last), s
		}
	}
	return spelled[nearest.To(lastPart(name), lasts)]
}

// lastPart returns the class of a class name without its package.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
