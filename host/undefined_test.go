package host

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry/embedded"
)

// A job of another server that has no member for a moment, and is in no file of this server,
// causes no warning.
func TestNewJobsOfOtherServersAreNotReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reg, logged := embedded.Memory(), &bytes.Buffer{} // safe, as its handler writes one line at a time
		begin := func(ip, name string, to *slog.Logger) (end func()) {
			h, err := New(Options{
				Registry: reg, Instance: job.NewInstanceID(ip, "1"), Log: to, Runner: Func(lasting),
				Jobs: []job.Config{{Name: name, Shards: 1}},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- h.Run(ctx) }()
			<-h.Ready()
			synctest.Wait()
			return func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
		}
		defer begin("10.0.0.1", "own", slog.New(slog.NewTextHandler(logged, nil)))()
		for i := range 4 {
			defer begin("10.0.0.2", fmt.Sprintf("new%d", i), slog.New(slog.DiscardHandler))()
		}
		if n := strings.Count(logged.String(), "in no file of this server"); n > 0 {
			t.Errorf("%d warnings: %s", n, logged.String())
		}
	})
}
