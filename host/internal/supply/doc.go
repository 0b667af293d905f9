// Package supply provides the code that the jobs of a server run. It finds modules,
// compiles each once for all jobs, and combines them with the grants of a job. Commands
// of the operating system and the Runner of an embedder are provided in the same way.
//
// It does not decide which jobs there are or whether this server may run one: the host
// does. It does not read the registry: the host names the addresses of other servers.
//
// Flow: Open → NewCode for each job → Load prepares the code for a configuration: it
// leases the modules, by digest, from the data directory, a file of the server's
// configuration or another server → each run leases the prepared code → Close of the
// Code ends its leases, and the last lease of a module closes it. Meanwhile Serve sends
// leased modules to other servers.
package supply
