package v21

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// decodeConfig reads the config node; an absent one gives nil. What is there and
// no member could run the job by is an error.
func (j Job) decodeConfig(n registry.Node) (*protocol.Config, error) {
	if !n.Exists {
		return nil, nil
	}
	if len(n.Children) > 0 {
		return nil, errLayout
	}
	c, err := DecodeConfig(n.Data)
	switch {
	case err != nil && YAML(n.Data):
		return nil, errors.New("it seems to be YAML, a job of layout 3; expected the JSON of layout 2.1; it is not touched")
	case err != nil:
		return nil, fmt.Errorf("expected the JSON of layout 2.1: %w", err)
	case c == nil:
		return nil, errors.New("it is empty, expected the JSON of layout 2.1")
	}
	if c.ShardingTotalCount > spelling.MaxItems {
		return nil, fmt.Errorf("shardingTotalCount %d is more than %d", c.ShardingTotalCount, spelling.MaxItems)
	}
	if name := j.name(); c.JobName != name {
		return nil, fmt.Errorf("expected the job %q, it is that of %.200q", name, c.JobName)
	}
	if _, err := job.ParseItemParams(c.ShardingItemParameters); err != nil {
		return nil, fmt.Errorf("shardingItemParameters: %w", err)
	}
	cron := c.Cron
	if cron == ManualCron {
		cron = ""
	}
	skew := int64(max(c.MaxTimeDiffSeconds, 0)) * 1000
	if c.MaxTimeDiffSeconds == 0 {
		skew = 1 // the strictest
	}
	return &protocol.Config{
		MaxSkew: skew,
		Total:   int(c.ShardingTotalCount), Cron: cron, Strategy: c.JobShardingStrategyClass,
		Failover: c.Failover, Misfire: c.Misfire, MonitorExecution: c.MonitorExecution, Disabled: c.Disabled,
		ReconcileEvery: int64(max(c.ReconcileIntervalMinutes, 0)) * 60_000,
	}, nil
}

// YAML tells a text of layout 3: it begins with a key, not with a brace.
func YAML(text []byte) bool {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	key, _, ok := bytes.Cut(line, []byte(":"))
	return ok && len(key) > 0 && !bytes.ContainsAny(key, "{[\"' \t")
}
