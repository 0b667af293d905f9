package layout

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/registry"
)

// decodeConfig reads the config node; an absent or empty one gives nil, as
// ElasticJob's own starter treats it.
func decodeConfig(n registry.Node) (*protocol.Config, error) {
	if !n.Exists {
		return nil, nil
	}
	if len(n.Children) > 0 {
		return nil, errors.New("the node has children: a job of layout 1 or 2.0, which this release does not touch")
	}
	c, err := DecodeConfig21(n.Data)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("the node is empty")
	}
	if c.ShardingTotalCount > maxItems {
		return nil, fmt.Errorf("shardingTotalCount %d is more than %d", c.ShardingTotalCount, maxItems)
	}
	cron := c.Cron
	if cron == ManualCron21 {
		cron = ""
	}
	return &protocol.Config{
		Total: int(c.ShardingTotalCount), Cron: cron, Strategy: c.JobShardingStrategyClass,
		Failover: c.Failover, Misfire: c.Misfire, MonitorExecution: c.MonitorExecution, Disabled: c.Disabled,
		ReconcileEvery: int64(max(c.ReconcileIntervalMinutes, 0)) * 60_000,
	}, nil
}
