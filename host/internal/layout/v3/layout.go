package v3

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/spelling"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

const (
	valueEnabled  = "ENABLED"
	valueDisabled = "DISABLED"

	maxClass = 1024 // bytes
)

// NewJob returns the spelling of a job in a namespace, which may contain slashes.
func NewJob(namespace, name string) jobtree.Job { return jobtree.New(dialect{}, namespace, name) }

// dialect is how layout 3 differs from others.
type dialect struct{}

var added = jobtree.Adding(jobtree.Added{Root: true, Trigger: true, Failovering: true})

func (dialect) Name() string { return job.Layout3 }

func (dialect) Added() *jobtree.Added { return added }

// Root refuses a value that cannot be a class. It accepts a blank one, as members of
// ElasticJob do.
func (dialect) Root(n registry.Node) error {
	class := string(n.Data)
	if len(class) > maxClass || !utf8.ValidString(class) || strings.ContainsFunc(class, unicode.IsControl) {
		return fmt.Errorf("expected a class, SCRIPT or HTTP, of at most %d bytes in one line; it is not touched", maxClass)
	}
	return nil
}

func (dialect) FromJob(c job.Config) definition.Config { return FromJob(c) }

// join makes one text of the class, in the first line, and the YAML.
func join(class string, yaml []byte) []byte {
	return append(append(make([]byte, 0, len(class)+1+len(yaml)), class+"\n"...), yaml...)
}

// split takes apart what join has made: the class is the first line.
func split(text []byte) (class string, yaml []byte) {
	line, yaml, _ := bytes.Cut(text, []byte("\n"))
	return string(bytes.TrimSpace(line)), yaml
}

// Parse reads a configuration that join has put together with its class. It refuses one of
// layout 2.1, whose job's own node is empty.
func (dialect) Parse(text []byte) (definition.Config, error) {
	class, yaml := split(text)
	if head := bytes.TrimSpace(bytes.TrimPrefix(yaml, []byte("\ufeff"))); class == "" && bytes.HasPrefix(head, []byte("{")) {
		return nil, errors.New("it seems to be JSON, a job of layout 2.1; expected the YAML of layout 3; it is not touched")
	}
	c, err := DecodeConfig(class, yaml)
	switch {
	case err != nil:
		return nil, fmt.Errorf("expected the YAML of layout 3: %w", err)
	case c == nil:
		return nil, errors.New("it is empty, expected the YAML of layout 3")
	}
	return *c, c.timeZone()
}

// Update changes the text of a configuration to c. Without a difference it returns text
// itself; for a new job, text is empty.
func (dialect) Update(text []byte, of definition.Config) ([]byte, error) {
	c := of.(Config)
	if len(text) == 0 {
		yaml, err := EncodeConfig(c)
		return join(c.Class, yaml), err
	}
	class, yaml := split(text)
	now, err := UpdateConfig(class, yaml, &c)
	if err != nil {
		return nil, err
	}
	// UpdateConfig returns its own argument if nothing differs; then Update does as well.
	if class == c.Class && len(now) == len(yaml) && (len(now) == 0 || &now[0] == &yaml[0]) {
		return text, nil
	}
	return join(c.Class, now), nil
}

// Rules returns what the core uses of a configuration.
func (dialect) Rules(read definition.Config) protocol.Config {
	c := read.(Config)
	return protocol.Config{
		MaxSkew: spelling.MaxSkew(c.MaxTimeDiffSeconds),
		Total:   int(c.ShardingTotalCount), Cron: c.Cron, Strategy: c.JobShardingStrategyType,
		Failover: c.Failover, Misfire: c.Misfire, MonitorExecution: c.MonitorExecution, Disabled: c.Disabled,
		ReconcileEvery: int64(max(c.ReconcileIntervalMinutes, 0)) * 60_000, OnlyOurs: c.Facts().OnlyOurs,
	}
}

// Mask hides the values of props and of extra configurations, since both may contain
// passwords. Without the class, which this text does not have, a script's command is one of
// the props.
func (dialect) Mask(text []byte) string {
	c, _, err := read("", text)
	if err != nil || c == nil {
		return fmt.Sprintf("(%d bytes that cannot be read)", len(text))
	}
	values := c.Props.values()
	for name := range values {
		values[name] = "***"
	}
	if c.Props = propsOf(values); c.JobExtraConfigurations != "" {
		c.JobExtraConfigurations = "jobExtraConfigurations: '***'\n"
	}
	masked, err := EncodeConfig(*c)
	if err != nil {
		return fmt.Sprintf("(%d bytes that cannot be read)", len(text))
	}
	return string(masked)
}

// Text returns the configuration in the nodes, with its class, which is in the job's own
// node.
func (dialect) Text(in jobtree.Kept) []byte {
	if !in.Config.Exists {
		return nil
	}
	return join(string(in.Root.Data), in.Config.Data)
}

// Version returns the version of a configuration. It changes with either of the two nodes.
func (dialect) Version(in jobtree.Kept) protocol.Version {
	return jobtree.VersionOf(in.Config) + "/" + jobtree.VersionOf(in.Root)
}

// versions takes apart what Version returns.
func versions(v protocol.Version) (config, root int32) {
	c, r, _ := strings.Cut(string(v), "/")
	return jobtree.NodeVersion(protocol.Version(c)), jobtree.NodeVersion(protocol.Version(r))
}
