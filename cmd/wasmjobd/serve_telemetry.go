package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/telemetry"
)

// telemetryPatience is how long the end of a server waits for a collector.
const telemetryPatience = 2 * time.Second

// withSpans sends a span for each run to the collector that the environment names, if any, while do
// runs. It gets their events by o.Count, which must be set: it puts a function of its own around that.
func withSpans(ctx context.Context, o *host.Options, env []string, log *slog.Logger, do func() error) error {
	wanted, err := telemetry.Wanted(func(name string) string {
		value, _ := variable(env, name)
		return value
	})
	if err != nil {
		return exitf(exitInvalid, "spans: %w", err)
	}
	if !wanted {
		return do()
	}
	all := o.WithDefaults()
	spans, err := telemetry.New(ctx, telemetry.Options{Namespace: all.Namespace, Instance: string(all.Instance), Version: version, Log: log})
	if err != nil {
		return exitf(exitInvalid, "%w", err)
	}
	count := o.Count
	o.Count = func(e *host.Event) {
		count(e)
		spans.Count(e)
	}
	defer func() {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), telemetryPatience)
		defer cancel()
		if err := spans.Close(within); err != nil {
			log.Warn("the last spans did not reach the collector", "error", err)
		}
	}()
	return do()
}
