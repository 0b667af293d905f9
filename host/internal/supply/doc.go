// Package supply supplies the jobs of a server with the code that they run: modules,
// compiled once for all jobs, and beside them commands of the operating system and
// the Runner of an embedder.
//
// It decides nothing about jobs: the host says which configuration is in force and
// whether the server may run it, and a runner says when. It knows no registry; where
// other servers have a module it is told.
//
// Flow: Open → NewCode for each job → Load gets a module by its digest, from the
// directory of the server, a file of its configuration or another server, and
// prepares what a run needs → Run → Close of the Code gives the module back, and the
// last one who has it closes it. Meanwhile Serve gives other servers the modules that
// jobs hold here.
package supply
