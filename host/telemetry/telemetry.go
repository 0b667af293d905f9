// Package telemetry sends a span of OpenTelemetry for each attempt of a run that ends.
//
// The spans of a fire, on whichever servers its items run, are one trace: its id is computed
// from namespace, job and instant, so the servers need not agree on it. What OpenTelemetry's
// variables say of the collector holds, as in its specification: endpoint, headers,
// certificate, time-out. Spans wait in a bounded queue; those for which there is no room
// are dropped, and no run waits for the collector.
package telemetry

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/wasmjob/wasmjob/host"
	"github.com/wasmjob/wasmjob/host/trace"
)

const (
	// maxText bounds an attribute, in bytes.
	maxText = 1 << 10
	// quiet is the time between two lines of the log about a collector that fails.
	quiet = time.Minute
)

// Variables of OpenTelemetry's specification. Without an endpoint nothing is sent.
const (
	endpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	tracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	disabled       = "OTEL_SDK_DISABLED"
	exporters      = "OTEL_TRACES_EXPORTER"
	protocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	tracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	onlyProtocol   = "http/protobuf"
)

// Wanted reports whether the environment names a collector to which spans go. env returns the
// value of a variable. The error says that the server cannot send what the environment asks for.
func Wanted(env func(string) string) (bool, error) {
	if env(endpoint) == "" && env(tracesEndpoint) == "" || strings.EqualFold(env(disabled), "true") || env(exporters) == "none" {
		return false, nil
	}
	for _, name := range []string{tracesProtocol, protocol} {
		if p := env(name); p != "" && p != onlyProtocol {
			return false, fmt.Errorf("%s=%s: only %s is possible; a collector listens for it at port 4318", name, p, onlyProtocol)
		} else if p != "" {
			break // the more special one decides
		}
	}
	return true, nil
}

// Options of Spans.
type Options struct {
	Namespace string // of the jobs
	Instance  string // id of this server
	Version   string // of the program
	Log       *slog.Logger
}

// Spans sends spans. Create them with New, and give Count to the options of the host.
type Spans struct {
	o        Options
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
}

// New returns spans that go to the collector which the environment names. It does not wait
// for the collector.
func New(ctx context.Context, o Options) (*Spans, error) {
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	of, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "wasmjobd"), attribute.String("service.version", o.Version), attribute.String("service.instance.id", o.Instance),
	), resource.WithTelemetrySDK(), resource.WithFromEnv()) // the last one wins: OTEL_SERVICE_NAME
	if err != nil {
		return nil, fmt.Errorf("send spans: %w", err)
	}
	otel.SetErrorHandler(&complaints{log: o.Log})
	return newSpans(o, sdktrace.WithBatcher(to), sdktrace.WithResource(of)), nil
}

// newSpans returns spans with a provider made of the options and our ids.
func newSpans(o Options, of ...sdktrace.TracerProviderOption) *Spans {
	p := sdktrace.NewTracerProvider(append(of, sdktrace.WithIDGenerator(ids{}))...)
	return &Spans{o: o, provider: p, tracer: p.Tracer("github.com/wasmjob/wasmjob/host/telemetry")}
}

// Count is for host.Options.Count. It waits for nothing.
func (s *Spans) Count(e *host.Event) {
	if e.Kind != host.EventEnd {
		return
	}
	ctx := context.WithValue(context.Background(), idsKey{}, s.idsOf(e)) //nolint:forbidigo // it has the ids and nothing else: nothing is waited for
	_, span := s.tracer.Start(ctx, e.Config.Name, oteltrace.WithTimestamp(e.At.Add(-e.Outcome.Took)), oteltrace.WithSpanKind(oteltrace.SpanKindInternal), oteltrace.WithAttributes(
		text("wasmjobd.namespace", s.o.Namespace), text("wasmjobd.job", e.Config.Name), attribute.Int("wasmjobd.item", e.Item),
		text("wasmjobd.run", e.Run), attribute.Int("wasmjobd.attempt", e.Attempt), text("wasmjobd.cause", string(e.Cause)),
		text("wasmjobd.scheduled", e.Scheduled.UTC().Format(time.RFC3339Nano)), text("wasmjobd.state", string(e.State)), text("wasmjobd.module", e.Outcome.Digest),
	))
	if !e.Reason.None() {
		span.SetAttributes(text("wasmjobd.reason", string(e.Reason.Code)))
	}
	if e.State != trace.Succeeded {
		// What the guest says stays here: it may be anything, and the collector is elsewhere.
		span.SetStatus(codes.Error, string(e.State))
	}
	span.End(oteltrace.WithTimestamp(e.At))
}

// Close sends what waits, as long as ctx lasts.
func (s *Spans) Close(ctx context.Context) error {
	if err := s.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// text returns an attribute with a bounded value.
func text(name, value string) attribute.KeyValue {
	if len(value) > maxText {
		value = value[:maxText]
	}
	return attribute.String(name, strings.ToValidUTF8(value, "\uFFFD"))
}

// idsOf are the ids of an attempt: every server computes the same ones.
func (s *Spans) idsOf(e *host.Event) spanIDs {
	var ids spanIDs
	fire := e.Run[strings.LastIndexByte(e.Run, '/')+1:] // without the item
	of := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s.o.Namespace, e.Config.Name, fire))
	copy(ids.trace[:], of[:])
	of = sha256.Sum256(fmt.Appendf(of[:], " %d %d", e.Item, e.Attempt))
	copy(ids.span[:], of[:])
	return ids
}

// idsKey is the key of spanIDs in a context.
type idsKey struct{}

// spanIDs are the ids of a span and of its trace.
type spanIDs struct {
	trace oteltrace.TraceID
	span  oteltrace.SpanID
}

// ids implements sdktrace.IDGenerator with the ids in the context.
type ids struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	of, _ := ctx.Value(idsKey{}).(spanIDs)
	return of.trace, of.span
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	of, _ := ctx.Value(idsKey{}).(spanIDs)
	return of.span
}

// complaints logs what is wrong with the collector, now and then.
type complaints struct {
	log *slog.Logger

	mu   sync.Mutex // guards last
	last time.Time
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	due := time.Since(c.last) >= quiet
	if due {
		c.last = time.Now()
	}
	c.mu.Unlock()
	if due {
		c.log.Warn("spans do not reach the collector; runs go on without them", "error", err)
	}
}
