// Package host runs jobs on one server: it joins schedule, runner, sandbox and
// registry, and is what a Go program embeds. It is not for deciding who runs
// what (that is the protocol core) and reads no configuration file (that is
// package config).
//
// A program fills in Options, makes a Host with New and calls Run, which blocks
// until its context ends and then drains. With Options.Runner the job is a Go
// function; without, it is a Wasm module in a sandbox. With Options.Registry
// nil, the registry is the one inside, kept in Options.DataDir.
//
// Flow: New validates → Run opens registry and sandbox, loads the modules, and
// starts a ticker and one loop for each job → their rows go to Options.Sinks →
// Run's context ends → ticks stop, guests finish, the jobs leave, all is closed.
package host
