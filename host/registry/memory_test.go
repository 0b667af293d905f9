package registry_test

import (
	"testing"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
)

// TestMemory runs the conformance suite for the registry of the example.
func TestMemory(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(*testing.T) registry.Registry { return NewMemory() })
}
