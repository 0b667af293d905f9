// Package host runs jobs on one server: it connects schedule, runner, sandbox and registry, and
// is the package that a Go program embeds. It does not decide which server runs which item (the
// protocol core does), and reads no configuration file (package config does).
//
// It is for programs that embed a server. Package operator controls a cluster, package shadow
// reports what a server would run without joining, and package guest has tools for a single
// module.
//
// A program fills in Options, creates a Host with New and calls Run, which blocks until its
// context ends and then drains. With Options.Runner each job is a Go function; without it, a
// Wasm module in a sandbox. If Options.Registry is nil, the registry is inside this process and
// stored in Options.DataDir. While the Host runs, Put and Remove change its jobs, PutModule and
// RemoveModule its modules.
//
// Flow: New validates → Run opens registry and sandbox, loads the modules, and starts a ticker
// and one loop for each job → their rows go to Options.Sinks → Run's context ends → ticks stop,
// guests finish, the jobs leave, Run closes all.
package host
