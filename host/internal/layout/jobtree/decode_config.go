package jobtree

import (
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// decodeConfig reads the config node; a missing one is nil. A configuration by which no
// member could run the job is an error.
func (j Job) decodeConfig(root, n registry.Node) (*protocol.Config, error) {
	if !n.Exists {
		return nil, nil
	}
	c, err := j.parse(root, n)
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

// parse reads a configuration that exists.
func (j Job) parse(root, n registry.Node) (definition.Config, error) {
	if len(n.Children) > 0 {
		return nil, j.otherLayout(true)
	}
	return j.dialect.Parse(j.dialect.Text(root, n))
}

// named refuses the configuration of another job.
func (j Job) named(c definition.Config) error {
	if name, of := j.name(), c.Facts().Name; of != name {
		return fmt.Errorf("expected the job %q, it is that of %.200q", name, of)
	}
	return nil
}
