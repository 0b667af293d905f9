// Package metrics turns what a host reports into metrics for Prometheus, and into what
// /healthz and /readyz answer by. It decides nothing, and listens on no address:
// package admin does.
//
// Flow: Options.Count of a host calls Count, which adds numbers up → at a scrape,
// Handler also reads the host's Gauges. The table in table.go has every metric: they are
// registered by it, and docs/METRICS.md is made from it.
package metrics
