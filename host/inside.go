package host

import (
	"log/slog"
	"path/filepath"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// maxCommit is the largest transaction of the registry inside, in bytes. Nothing is sent over a
// network there, so it has room for a reshard of a job with MaxShards items.
const maxCommit = 64 << 20

// OpenRegistry opens the registry inside the server with the data directory dir, as Run does if
// Options have none. It is for callers that use the registry themselves: they pass it in
// Options, and close it after Run. It is refused while another process has the registry open.
func OpenRegistry(dir string, log *slog.Logger) (registry.Registry, error) {
	r, err := embedded.Open(filepath.Join(dir, "registry"), embedded.Options{
		Relaxed: layout.Relaxed, MaxCommit: maxCommit, Logger: log,
	})
	if err != nil {
		return nil, failf(Refused, err, "data directory %s", dir)
	}
	return r, nil
}

// openRegistry returns the registry of the options, or the one inside, and a function that closes
// it unless it is the caller's.
func (h *Host) openRegistry() (registry.Registry, func() error, error) {
	if h.o.Registry != nil {
		return h.o.Registry, func() error { return nil }, nil
	}
	if h.o.DataDir == "" {
		r := embedded.MemoryWith(embedded.Options{MaxCommit: maxCommit, Logger: h.o.Log})
		return r, r.Close, nil
	}
	r, err := OpenRegistry(h.o.DataDir, h.o.Log)
	if err != nil {
		return nil, nil, err
	}
	return r, r.Close, nil
}
