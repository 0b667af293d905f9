package v1

import (
	"errors"
	"fmt"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// defined is the configuration in a job's definition. Disabled and Overwrite come from a
// file, since the layout cannot keep them.
type defined struct {
	Config

	Name                string
	Disabled, Overwrite bool
}

// Facts returns what other packages read of the configuration.
func (c defined) Facts() definition.Facts {
	f := c.Later(c.Name).Facts()
	f.Layout, f.ByAddress, f.Type, f.Overwrite = job.Layout1, true, string(c.JobType), c.Overwrite
	return f
}

// Adopt returns c, the configuration by a server's file, with those values of from, the
// registry's, that a file cannot give, so that the file does not seem to change them. These
// are the type in releases before 1.1, which write none, and a key of a dataflow. class is
// the class that is kept beside the registry's module if the file names none; else it is
// empty.
func (c defined) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(defined)
	if !ok {
		return c
	}
	if there.JobType == Untyped && c.JobType != Script { // such releases have no scripts
		c.JobType, c.StreamingProcess = Untyped, false
	}
	c.ProcessCountIntervalSeconds = there.ProcessCountIntervalSeconds
	if c.MonitorPort < 0 { // the file names no port
		c.MonitorPort = there.MonitorPort
	}
	if class != "" && class == there.JobClass && c.JobClass == v21.WasmClass {
		c.JobClass = class
	}
	if sameStrategy(c.JobShardingStrategyClass, there.JobShardingStrategyClass) { // the same strategy under another name, or none
		c.JobShardingStrategyClass = there.JobShardingStrategyClass
	}
	return c
}

// Object returns the whole configuration as a JSON object, with the text of each key. It
// refuses what the layout cannot keep.
func (c defined) Object() ([]byte, error) {
	if c.Disabled {
		return nil, errors.New("layout 1 has no place for disabled = true: leave it out, and disable the job's servers with server disable")
	}
	all, err := Encode(c.Config)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{jobtree.KeyJobName: c.Name}
	for _, e := range all {
		texts[e.Key] = e.Text
	}
	return jobtree.JoinKeys(texts), nil
}

// FromObject reads what Object has written.
func (defined) FromObject(text []byte) (definition.Config, error) { return parse(text) }

// parse reads a configuration from the text in which Object writes it.
func parse(text []byte) (definition.Config, error) {
	texts, err := jobtree.SplitKeys(text)
	if err != nil {
		return nil, err
	}
	c, err := Decode(of(texts))
	if err != nil {
		return nil, fmt.Errorf("expected the keys of layout 1, each in a node: %w", err)
	}
	return defined{Config: *c, Name: texts[jobtree.KeyJobName]}, nil
}

// of returns a function that reads the keys from a map, as Decode needs it.
func of(texts map[string]string) func(key string) (text string, ok bool) {
	return func(key string) (text string, ok bool) { text, ok = texts[key]; return text, ok }
}
