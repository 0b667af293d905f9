package v21

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/jsonvalue"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	valueDisabled = "DISABLED"
	valueTrigger  = "TRIGGER"
)

// NewJob returns the spelling of a job in a namespace, which may contain slashes.
func NewJob(namespace, name string) jobtree.Job { return jobtree.New(dialect{}, namespace, name) }

// dialect is how layout 2.1 differs from others.
type dialect struct{ jobtree.OneNode }

func (dialect) Name() string { return job.Layout21 }

// Root refuses a job of layout 3, whose own node names a class.
func (dialect) Root(n registry.Node) error {
	if class := strings.TrimSpace(string(n.Data)); class != "" {
		return fmt.Errorf("it names the class %.200q, as in layout 3; expected a job of layout 2.1; it is not touched", class)
	}
	return nil
}

func (dialect) Added() *jobtree.Added { return nil }

func (dialect) FromJob(c job.Config) definition.Config { return FromJob(c) }

// Parse reads the text of a configuration. Its error says what was expected.
func (dialect) Parse(text []byte) (definition.Config, error) {
	c, err := DecodeConfig(text)
	switch {
	case err != nil && spelling.YAML(text):
		return nil, errors.New("it seems to be YAML, a job of layout 3; expected the JSON of layout 2.1; it is not touched")
	case err != nil:
		return nil, fmt.Errorf("expected the JSON of layout 2.1: %w", err)
	case c == nil:
		return nil, errors.New("it is empty, expected the JSON of layout 2.1")
	}
	return *c, nil
}

func (dialect) Update(text []byte, c definition.Config) ([]byte, error) {
	config := c.(Config)
	return UpdateConfig(text, &config)
}

func (dialect) Rules(read definition.Config) protocol.Config { return read.(Config).Rules() }

// Rules returns what the protocol uses of the configuration.
func (c Config) Rules() protocol.Config {
	cron := c.Cron
	if cron == ManualCron {
		cron = ""
	}
	return protocol.Config{
		MaxSkew: spelling.MaxSkew(c.MaxTimeDiffSeconds),
		Total:   int(c.ShardingTotalCount), Cron: cron, Strategy: c.JobShardingStrategyClass,
		Failover: c.Failover, Misfire: c.Misfire, MonitorExecution: c.MonitorExecution, Disabled: c.Disabled,
		ReconcileEvery: int64(max(c.ReconcileIntervalMinutes, 0)) * 60_000, OnlyOurs: c.Facts().OnlyOurs,
	}
}

func (dialect) Mask(text []byte) string { return Mask(text) }

// Mask hides the command line of a script, which may have secrets.
func Mask(text []byte) string {
	masked, _ := jsonvalue.Mask(text, func(keys []string) bool {
		return len(keys) > 0 && keys[0] == "scriptCommandLine" || spelling.Private(keys)
	})
	return string(masked) // a text that ElasticJob cannot read is shown as it is
}

func (dialect) Register(j jobtree.Job, id job.InstanceID) []registry.Op {
	return []registry.Op{{Kind: registry.CreateEphemeral, Path: j.Instance(id), Data: []byte{}}}
}

func (dialect) Unregister(j jobtree.Job, in protocol.Instance) []registry.Op {
	return []registry.Op{{Kind: registry.Delete, Path: j.Instance(in.ID), Version: in.Version}}
}

// Server returns the value of a server's node, with which an operator disables the server.
func (dialect) Server(disabled bool) string {
	if disabled {
		return valueDisabled
	}
	return ""
}

func (dialect) Disabled(server registry.Node) bool { return string(server.Data) == valueDisabled }

func (dialect) Requested(instance registry.Node) bool { return string(instance.Data) == valueTrigger }

// Request asks an instance to begin, by the value of its node, or takes that back.
func (dialect) Request(j jobtree.Job, in protocol.Instance, asked bool) []registry.Op {
	value := ""
	if asked {
		value = valueTrigger
	}
	return []registry.Op{{Kind: registry.Set, Path: j.Instance(in.ID), Data: []byte(value), Version: in.Version}}
}

func (dialect) Unasked(j jobtree.Job, in protocol.Instance) []registry.Op {
	return []registry.Op{{Kind: registry.Check, Path: j.Instance(in.ID), Version: in.Version}}
}

func (dialect) Running(j jobtree.Job, _ job.InstanceID, item int, _ bool) registry.Op {
	return registry.Op{Kind: registry.CreateEphemeral, Path: j.Item(item, jobtree.MarkRunning), Data: []byte{}}
}
