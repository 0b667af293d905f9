// Package metrics turns the events and gauges of a host into Prometheus metrics, and into the
// checks behind /healthz and /readyz. It decides nothing and listens on no address; package
// admin does.
//
// Flow: the host calls Count (as Options.Count), which adds numbers up → at a scrape, Handler
// also reads the host's Gauges. Every metric is a row of the table in table.go, from which
// docs/METRICS.md is generated.
package metrics
