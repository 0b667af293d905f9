// Package host runs jobs on one server: it joins schedule, runner, sandbox and
// registry, and is what a Go program embeds. It is not for deciding who runs
// what (that is the protocol core) and reads no configuration file (that is
// package config).
//
// It is for programs that embed a server. What operators ask of a cluster is in
// package operator, what a server would run without joining in package shadow, and
// tools around one module are in package guest.
//
// A program fills in Options, makes a Host with New and calls Run, which blocks
// until its context ends and then drains. With Options.Runner the job is a Go
// function; without, it is a Wasm module in a sandbox. With Options.Registry
// nil, the registry is the one inside, kept in Options.DataDir. While it runs, Put and
// Remove change its jobs, PutModule and RemoveModule its modules.
//
// Flow: New validates → Run opens registry and sandbox, loads the modules, and
// starts a ticker and one loop for each job → their rows go to Options.Sinks →
// Run's context ends → ticks stop, guests finish, the jobs leave, all is closed.
package host
