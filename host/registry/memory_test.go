package registry_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// TestMemory holds the registry of the example against the port.
func TestMemory(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registry.Registry { return NewMemory() })
}
