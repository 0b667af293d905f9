package v20

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// defined is the configuration in a job's definition.
type defined struct{ v21.Config }

// Facts returns what other packages read of the configuration. It is that of 2.1 but for
// the layout.
func (c defined) Facts() definition.Facts {
	f := c.Config.Facts()
	f.Layout, f.ByAddress = job.Layout20, true
	return f
}

// Adopt returns c, the configuration by a server's file, with those values of from, the
// registry's, that a file cannot give. The rules are those of layout 2.1.
func (c defined) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(defined)
	if !ok {
		return c
	}
	return defined{c.Config.Adopt(there.Config, class).(v21.Config)} //nolint:forcetypeassert // Adopt returns its receiver's type
}

// Object implements definition.Config.
func (c defined) Object() ([]byte, error) { return EncodeConfig(c.Config) }

// FromObject reads what Object has written.
func (c defined) FromObject(text []byte) (definition.Config, error) {
	read, err := DecodeConfig(text)
	if err != nil {
		return nil, err
	}
	return defined{*read}, nil // the text is an object
}
