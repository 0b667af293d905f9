package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"

	"github.com/wasmjob/wasmjob/host"
)

func TestSpansGoWhereTheEnvironmentSays(t *testing.T) {
	var sent atomic.Int64
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			sent.Add(1)
		}
	}))
	defer collector.Close()
	counted := 0
	serve := func() error {
		o := host.Options{Count: func(*host.Event) { counted++ }}
		return withSpans(t.Context(), &o, os.Environ(), slog.New(slog.DiscardHandler), func() error {
			for _, e := range sampleEvents() {
				o.Count(&e)
			}
			return nil
		})
	}
	if err := serve(); err != nil || sent.Load() != 0 {
		t.Errorf("without a collector: %v, %d sent", err, sent.Load())
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	if err := serve(); err != nil || sent.Load() != 1 {
		t.Errorf("with a collector: %v, %d sent", err, sent.Load())
	}
	if counted != 2*len(sampleEvents()) {
		t.Errorf("%d events were counted", counted)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
	var coded *exitError
	if err := serve(); !errors.As(err, &coded) || coded.code != exitInvalid {
		t.Errorf("a protocol that is not there: %v", err)
	}
}
