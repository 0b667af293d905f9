package v20

import (
	"github.com/wasmjob/wasmjob/host/internal/definition"
	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
)

// defined is the configuration in a job's definition.
type defined struct{ v21.Config }

// Facts implements definition.Config.
func (c defined) Facts() definition.Facts {
	f := c.Config.Facts()
	f.Layout, f.ByAddress = job.Layout20, true
	return f
}

// Adopt implements definition.Config, by the same rules as in layout 2.1.
func (c defined) Adopt(from definition.Config, class string) definition.Config {
	there, ok := from.(defined)
	if !ok {
		return c
	}
	return defined{c.Config.Adopt(there.Config, class).(v21.Config)} //nolint:forcetypeassert // Adopt returns its receiver's type
}

// Object implements definition.Config.
func (c defined) Object() ([]byte, error) { return EncodeConfig(c.Config) }

// FromObject implements definition.Config.
func (c defined) FromObject(text []byte) (definition.Config, error) {
	read, err := DecodeConfig(text)
	if err != nil {
		return nil, err
	}
	return defined{*read}, nil // the text is an object
}
