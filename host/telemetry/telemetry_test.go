package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
	"github.com/wasmjob/wasmjob/host/trace"
)

var ended = time.Date(2026, 11, 28, 12, 0, 3, 0, time.UTC) // read only

func end(item, attempt int, state trace.State) *host.Event {
	return &host.Event{
		Kind: host.EventEnd, At: ended, Config: job.Config{Name: "orders"}, Item: item, Run: "orders/" + string(rune('0'+item)) + "/1795867200000",
		Scheduled: ended.Add(-3 * time.Second), Cause: trace.Schedule, Attempt: attempt, State: state,
		Outcome: job.Outcome{Took: 2 * time.Second, Error: "card 4111111111111111"},
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	one := newSpans(Options{Namespace: "payments"}, sdktrace.WithSyncer(kept))
	other := newSpans(Options{Namespace: "payments"}, sdktrace.WithSyncer(kept)) // another server
	elsewhere := newSpans(Options{Namespace: "reports"}, sdktrace.WithSyncer(kept))
	failed := end(0, 1, trace.Failed)
	failed.Reason = reason.Of(reason.ServerGone)
	one.Count(failed)
	one.Count(end(0, 2, trace.Succeeded))
	other.Count(end(1, 1, trace.Succeeded))
	elsewhere.Count(end(1, 1, trace.Succeeded))
	one.Count(&host.Event{Kind: host.EventStart, Config: job.Config{Name: "orders"}})

	all := kept.GetSpans()
	if len(all) != 4 {
		t.Fatalf("%d spans", len(all))
	}
	traces, spans := map[string]bool{}, map[string]bool{}
	for i, s := range all {
		spans[s.SpanContext.SpanID().String()] = true
		traces[s.SpanContext.TraceID().String()] = true
		if s.Name != "orders" || !s.EndTime.Equal(ended) || s.EndTime.Sub(s.StartTime) != 2*time.Second || s.Parent.IsValid() {
			t.Errorf("span %d: %+v", i, s)
		}
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.String(), "4111") {
				t.Errorf("span %d tells what the guest says: %v", i, a)
			}
		}
	}
	if len(spans) != 4 || len(traces) != 2 {
		t.Errorf("%d span ids, %d traces", len(spans), len(traces))
	}
	if all[0].Status.Description != "failed" || all[1].Status.Description != "" {
		t.Errorf("states %+v, %+v", all[0].Status, all[1].Status)
	}
	attributes := map[string]string{}
	for _, a := range all[0].Attributes {
		attributes[string(a.Key)] = a.Value.String()
	}
	want := map[string]string{
		"wasmjobd.namespace": "payments", "wasmjobd.job": "orders", "wasmjobd.item": "0", "wasmjobd.run": "orders/0/1795867200000", "wasmjobd.attempt": "1",
		"wasmjobd.cause": "schedule", "wasmjobd.scheduled": "2026-11-28T12:00:00Z", "wasmjobd.state": "failed", "wasmjobd.module": "", "wasmjobd.reason": "server_gone",
	}
	if diff := cmp.Diff(want, attributes); diff != "" {
		t.Error(diff)
	}
}

// A collector receives what it is sent by OTLP.
func TestCollectorReceives(t *testing.T) {
	got := make(chan *collector.ExportTraceServiceRequest, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		message := &collector.ExportTraceServiceRequest{}
		if err := proto.Unmarshal(body, message); err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL.Path, err)
		}
		if err != nil {
			t.Error(err)
		}
		got <- message
	}))
	defer server.Close()
	t.Setenv(endpoint, server.URL)
	t.Setenv("OTEL_SERVICE_NAME", "jobs of a shop")
	s, err := New(t.Context(), Options{Namespace: "payments", Instance: "10.0.0.1@-@7", Version: "1.2", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.Count(end(3, 1, trace.Succeeded))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	of := (<-got).ResourceSpans[0]
	names := map[string]string{}
	for _, a := range of.Resource.Attributes {
		names[a.Key] = a.Value.GetStringValue()
	}
	if names["service.name"] != "jobs of a shop" || names["service.instance.id"] != "10.0.0.1@-@7" || names["service.version"] != "1.2" {
		t.Errorf("resource %v", names)
	}
	if span := of.ScopeSpans[0].Spans[0]; span.Name != "orders" || span.EndTimeUnixNano != uint64(ended.UnixNano()) {
		t.Errorf("span %v", span)
	}
}

// A collector that does not answer holds up no run, and its absence is logged once.
func TestCollectorIsAway(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	t.Setenv(endpoint, server.URL)
	var log strings.Builder
	s, err := New(t.Context(), Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		s.Count(end(3, 1, trace.Succeeded))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); err == nil {
		t.Error("what waited was sent")
	}
}

func TestComplaintsAreRare(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	c := &complaints{log: slog.New(slog.NewTextHandler(&log, nil))}
	c.Handle(io.ErrUnexpectedEOF)
	c.Handle(io.ErrUnexpectedEOF)
	if n := strings.Count(log.String(), "unexpected EOF"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

func TestWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env    map[string]string
		wanted bool
		fault  string
	}{
		{},
		{env: map[string]string{"OTEL_SERVICE_NAME": "x"}},
		{env: map[string]string{endpoint: "http://127.0.0.1:4318"}, wanted: true},
		{env: map[string]string{tracesEndpoint: "http://127.0.0.1:4318/v1/traces"}, wanted: true},
		{env: map[string]string{endpoint: "http://127.0.0.1:4318", disabled: "TRUE"}},
		{env: map[string]string{endpoint: "http://127.0.0.1:4318", exporters: "none"}},
		{env: map[string]string{endpoint: "http://127.0.0.1:4317", protocol: "grpc"}, fault: "OTEL_EXPORTER_OTLP_PROTOCOL=grpc: only http/protobuf"},
		{env: map[string]string{endpoint: "http://127.0.0.1:4318", protocol: "grpc", tracesProtocol: onlyProtocol}, wanted: true},
	} {
		wanted, err := Wanted(func(name string) string { return c.env[name] })
		if wanted != c.wanted || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%v: %v, %v", c.env, wanted, err)
		}
	}
}
