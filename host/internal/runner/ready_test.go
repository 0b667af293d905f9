package runner

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// When a job has joined, the registry has the definition of the server's file.
func TestJoinedWhenTheFileIsThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg := embedded.Memory()
		s := serve(t, reg, &book{}, "10.0.0.1", nil)
		<-s.Joined()
		s.stop(t)

		n := newNetwork(reg, 18*time.Second, rand.New(rand.NewPCG(1, 2)))
		n.ended = func(*remote) {}
		s = serve(t, n, &book{}, "10.0.0.1", func(o *Options) { o.Config.Param = "new" })
		<-s.Joined()
		reader, err := reg.Open(t.Context(), nil)
		must(t, err)
		config, err := reader.Read(t.Context(), s.Layout.Root()+"/config")
		must(t, err)
		c, err := v21.DecodeConfig(config.Data)
		must(t, err)
		if c.JobParameter != "new" {
			t.Errorf("the registry has parameter %q", c.JobParameter)
		}
		must(t, reader.Close())
		s.stop(t)
		must(t, reg.Close())
	})
}
