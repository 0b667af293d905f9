package v20

import (
	"errors"
	"fmt"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/jobtree"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// NewJob returns the spelling of a job in a namespace, which may contain slashes.
func NewJob(namespace, name string) jobtree.Job { return jobtree.New(dialect{}, namespace, name) }

// dialect is how layout 2.0 differs from others.
type dialect struct {
	jobtree.OneNode
	jobtree.ByAddress
}

var added = jobtree.Adding(jobtree.Added{ByAddress: true, PauseKeepsItems: true})

func (dialect) Name() string { return job.Layout20 }

// Root refuses a job of layout 3, whose own node names a class.
func (dialect) Root(n registry.Node) error {
	if class := strings.TrimSpace(string(n.Data)); class != "" {
		return fmt.Errorf("it names the class %.200q, as in layout 3; expected a job of layout 2.0; it is not touched", class)
	}
	return nil
}

func (dialect) Added() *jobtree.Added { return added }

func (dialect) FromJob(c job.Config) definition.Config { return defined{v21.FromJob(c)} }

// Parse reads the text of a configuration. Its error says what was expected.
func (dialect) Parse(text []byte) (definition.Config, error) {
	c, err := DecodeConfig(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("expected the JSON of layout 2.0: %w", err)
	case c == nil:
		return nil, errors.New("it is empty, expected the JSON of layout 2.0")
	}
	return defined{*c}, nil
}

func (dialect) Update(text []byte, c definition.Config) ([]byte, error) {
	config := c.(defined).Config
	return v21.Form20.Update(text, &config)
}

// Rules returns what the core uses of a configuration. The layout has no interval of
// reconciliation.
func (dialect) Rules(read definition.Config) protocol.Config {
	rules := read.(defined).Rules()
	rules.ReconcileEvery = 0
	return rules
}

func (dialect) Mask(text []byte) string { return v21.Mask(text) }
