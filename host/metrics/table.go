package metrics

import (
	"time"

	"github.com/wasmjob/wasmjob/host"
)

//go:generate go test -run ^TestMetricsPage$ -update .

// prefix begins the name of every metric.
const prefix = "wasmjobd_"

// The types of metrics, as the text format spells them.
const (
	counter   = "counter"
	gauge     = "gauge"
	histogram = "histogram"
)

// metric is a row of the table.
type metric struct {
	name    string // without the prefix
	kind    string
	labels  []string
	help    string
	buckets []float64                 // of a histogram, in seconds
	read    func(now *moment) float64 // of a gauge without labels
}

// moment holds the values that gauges read at one scrape.
type moment struct {
	host.Gauges
	connected   bool // the registry lets jobs go on
	running     int64
	inFile      int64 // rows
	active      int64 // alerts that are not over
	unsent      int64 // active alerts whose last message could not be sent
	reloadedAt  time.Time
	reloadFails bool
}

// Labels that several metrics share.
const (
	jobLabel    = "job"
	reasonLabel = "reason"
)

// The metrics that Count adds to.
const (
	fires            = "fires_total"
	runSeconds       = "run_seconds"
	lagSeconds       = "schedule_lag_seconds"
	missed           = "missed_total"
	skipped          = "skipped_total"
	reshards         = "reshards_total"
	failovers        = "failovers_total"
	strategyFailures = "strategy_failures_total"
	refusedModules   = "modules_refused_total"
	compileSeconds   = "module_compile_seconds"
	buildInfo        = "build_info"
)

// table has every metric, in the order of the page.
var table = []metric{
	{name: fires, kind: counter, labels: []string{jobLabel, "cause", "result"}, help: "Attempts of runs that have ended, by cause and result."},
	{name: runSeconds, kind: histogram, labels: []string{jobLabel}, buckets: []float64{.005, .025, .1, .5, 1, 5, 30, 120, 600, 3600}, help: "How long guests ran."},
	{name: lagSeconds, kind: histogram, buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30}, help: "How long after its instant a scheduled run began. Only first attempts with the cause `schedule` count."},
	{name: missed, kind: counter, labels: []string{jobLabel, reasonLabel}, help: "Instants at which an item did not begin, by the code of the reason."},
	{name: skipped, kind: counter, labels: []string{jobLabel, reasonLabel}, help: "Runs that were skipped, by the code of the reason. The reason is `none` if the guest had nothing to do."},
	{name: failovers, kind: counter, labels: []string{jobLabel}, help: "Attempts that this server began because the run's server was gone. A retry of such a run counts again."},
	{name: reshards, kind: counter, labels: []string{jobLabel}, help: "How often this server, as leader, assigned all items anew."},
	{name: strategyFailures, kind: counter, labels: []string{jobLabel}, help: "Calls of a sharding strategy that failed."},
	{name: compileSeconds, kind: histogram, buckets: []float64{.01, .05, .1, .5, 1, 5, 30, 120}, help: "How long it took to compile a module that was not in the cache."},
	{name: refusedModules, kind: counter, help: "Modules refused because compiling them crashed a process."},

	{name: "running", kind: gauge, help: "Guests that run now.", read: func(now *moment) float64 { return float64(now.running) }},
	{name: "jobs", kind: gauge, help: "Jobs that run on this server or are about to.", read: func(now *moment) float64 { return float64(now.Jobs) }},
	{name: "jobs_refused", kind: gauge, help: "Jobs whose module this server cannot load, or refuses.", read: func(now *moment) float64 { return float64(now.Refused) }},
	{name: "jobs_loading", kind: gauge, help: "Jobs that wait since the start until their module is compiled.", read: func(now *moment) float64 { return float64(now.Loading) }},
	{name: "leader", kind: gauge, help: "Jobs that this server leads.", read: func(now *moment) float64 { return float64(now.Leads) }},
	{name: "items_owned", kind: gauge, help: "Items that this server owns, over all jobs.", read: func(now *moment) float64 { return float64(now.Owned) }},
	{name: "registry_connected", kind: gauge, help: "1 while the server has a registry session that answers and takes writes; else 0.", read: func(now *moment) float64 { return bit(now.connected) }},
	{name: "clock_skew_seconds", kind: gauge, help: "How far this server's clock is ahead of the registry's, at least; 0 if not known.", read: func(now *moment) float64 { return now.Skew.Seconds() }},
	{name: "history_rows_waiting", kind: gauge, help: "Rows of this server that are not in the history yet.", read: func(now *moment) float64 { return float64(now.Unstored) }},
	{name: "history_rows_in_file", kind: gauge, help: "Rows that wait in a file of this server until the database of the history takes them.", read: func(now *moment) float64 { return float64(now.inFile) }},
	{name: "history_jobs_unwritable", kind: gauge, help: "Jobs whose rows the history cannot take at present.", read: func(now *moment) float64 { return float64(now.Unwritable) }},
	{name: "guest_memory_bytes", kind: gauge, help: "Memory of all guests, running and idle.", read: func(now *moment) float64 { return float64(now.GuestMemory) }},
	{name: "guest_memory_limit_bytes", kind: gauge, help: "Memory that all guests together may have; 0 if not known.", read: func(now *moment) float64 { return float64(now.MemoryLimit) }},
	{name: "alerts_active", kind: gauge, help: "Alerts of the cluster that are not over; 0 on servers that do not send alerts.", read: func(now *moment) float64 { return float64(now.active) }},
	{name: "alerts_untold", kind: gauge, help: "Alerts whose last message to a notifier could not be sent; 0 on servers that do not send alerts.", read: func(now *moment) float64 { return float64(now.unsent) }},
	{name: "draining", kind: gauge, help: "1 while the server is shutting down; else 0.", read: func(now *moment) float64 { return bit(now.Draining) }},
	{name: "config_last_reload_successful", kind: gauge, help: "1 if the server could use its files when it read them last; else 0.", read: func(now *moment) float64 { return bit(!now.reloadFails) }},
	{name: "config_last_reload_success_timestamp_seconds", kind: gauge, help: "When the server last read files that it could use, in Unix time.", read: func(now *moment) float64 { return float64(now.reloadedAt.UnixMilli()) / 1000 }},
	{name: buildInfo, kind: gauge, labels: []string{"version", "revision", "goversion"}, help: "Always 1; the labels describe the build."},
}

// bit returns 1 for true.
func bit(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
