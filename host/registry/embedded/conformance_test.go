package embedded_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

func TestConformance_memory(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registry.Registry { return embedded.Memory() })
}

func TestConformance_disk(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T) registry.Registry {
		r, err := embedded.Open(t.TempDir(), embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	})
}
