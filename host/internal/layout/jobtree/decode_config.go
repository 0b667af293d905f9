package jobtree

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// decodeConfig reads what the core uses of the configuration; nil if it is missing. A
// configuration with which no member could run the job is an error.
func (j Job) decodeConfig(in Kept) (*protocol.Config, error) {
	if !in.Config.Exists {
		return nil, nil
	}
	c, err := j.parse(in)
	if err != nil {
		return nil, err
	}
	rules, of := j.dialect.Rules(c), c.Apply(job.Config{})
	if rules.Total > spelling.MaxItems {
		return nil, fmt.Errorf("shardingTotalCount %d is more than %d", rules.Total, spelling.MaxItems)
	}
	if err := j.named(c); err != nil {
		return nil, err
	}
	if _, err := job.ParseItemParams(of.ItemParams); err != nil {
		return nil, fmt.Errorf("shardingItemParameters: %w", err)
	}
	return &rules, nil
}

// parse reads a configuration that exists. It refuses one with a text in the layout whose
// keys are nodes, and one with nodes in the others.
func (j Job) parse(in Kept) (definition.Config, error) {
	const text = "%s, as in layout%s; expected a job of layout %s; it is not touched"
	switch {
	case j.byKeys() && hasText(in.Config):
		return nil, fmt.Errorf(text, "it has a text", "s 2.0 and later", j.dialect.Name())
	case !j.byKeys() && len(in.Config.Children) > 0:
		return nil, fmt.Errorf(text, "its keys are nodes", " 1", j.dialect.Name())
	}
	return j.dialect.Parse(j.dialect.Text(in))
}

// named refuses a configuration that names another job.
func (j Job) named(c definition.Config) error {
	if name, of := j.name(), c.Facts().Name; of != name {
		return fmt.Errorf("expected the job %q, it is that of %.200q", name, of)
	}
	return nil
}
