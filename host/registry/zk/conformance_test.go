package zk_test

import (
	"testing"
	"time"

	"github.com/wasmjob/wasmjob/host/registry"
	"github.com/wasmjob/wasmjob/host/registry/registrytest"
	"github.com/wasmjob/wasmjob/host/registry/zk"
	"github.com/wasmjob/wasmjob/host/registry/zk/zktest"
)

func TestConformance_debian(t *testing.T) {
	t.Parallel()
	server := conform(t, zktest.Debian(t))
	t.Run("cut", func(t *testing.T) {
		t.Parallel()
		conformCut(t, server)
	})
}

func TestConformance_newer(t *testing.T) {
	t.Parallel()
	conform(t, zktest.Newer(t))
}

func conform(t *testing.T, r zktest.Release) *zktest.Server {
	t.Helper()
	// A long tick, so that a busy machine loses no session.
	server := zktest.Start(t, r, zktest.Options{Tick: time.Second})
	registrytest.Run(t, func(t *testing.T) registry.Registry {
		t.Helper()
		return open(t, zk.Options{Servers: []string{server.Address()}, SessionTimeout: 20 * time.Second})
	})
	return server
}

func open(t *testing.T, o zk.Options) *zk.Registry {
	t.Helper()
	r, err := zk.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
