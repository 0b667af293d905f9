package v1

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// NewJob returns the spelling of a job in a namespace, which may contain slashes.
func NewJob(namespace, name string) jobtree.Job { return jobtree.New(dialect{}, namespace, name) }

// dialect is how layout 1 differs from others.
type dialect struct {
	jobtree.KeyNodes
	jobtree.ByAddress
}

var added = jobtree.Adding(jobtree.Added{ByAddress: true, Keys: allKeys(), Offsets: true})

func (dialect) Name() string { return job.Layout1 }

// Root refuses a job of layout 3, whose own node names a class.
func (dialect) Root(n registry.Node) error {
	if class := strings.TrimSpace(string(n.Data)); class != "" {
		return fmt.Errorf("it names the class %.200q, as in layout 3; expected a job of layout 1; it is not touched", class)
	}
	return nil
}

func (dialect) Added() *jobtree.Added { return added }

func (dialect) FromJob(j job.Config) definition.Config {
	return defined{Config: FromJob(j), Name: j.Name, Disabled: j.Disabled, Overwrite: j.Overwrite}
}

func (dialect) Parse(text []byte) (definition.Config, error) { return parse(text) }

// Update changes the text of a configuration to c. Without a difference it returns text
// itself; for a new job, text is empty.
func (dialect) Update(text []byte, c definition.Config) ([]byte, error) {
	d := c.(defined)
	if len(text) == 0 {
		return d.Object()
	}
	texts, err := jobtree.SplitKeys(text)
	if err != nil {
		return nil, err
	}
	changed, err := Update(of(texts), d.Config)
	if err != nil || len(changed) == 0 {
		return text, err
	}
	for _, e := range changed {
		texts[e.Key] = e.Text
	}
	return jobtree.JoinKeys(texts), nil
}

// Rules returns what the core uses of a configuration. The layout has no interval of
// reconciliation. Members of a dataflow write into nodes how many elements they have
// handled.
func (dialect) Rules(read definition.Config) protocol.Config {
	d := read.(defined)
	rules := d.Later(d.Name).Rules()
	rules.ReconcileEvery = 0
	if d.JobType == Dataflow {
		rules.CountEvery = 1000 * int64(max(d.ProcessCountIntervalSeconds, 0))
	}
	return rules
}

// Mask hides any value of config itself, which normally has only blanks.
func (dialect) Mask(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return string(text)
	}
	return fmt.Sprintf("(%d bytes that cannot be read)", len(text))
}
