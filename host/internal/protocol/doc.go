// Package protocol decides. It is the whole coordination protocol of a job as a pure
// function: what one member knows (a View of the job's nodes, its own guests, the time) and
// one Input give one Plan, which is at most one Mutation to commit and some Effects to
// carry out.
//
// Members are ours, or foreign: members of ElasticJob, which share the classical nodes and
// keep no records. Code that only they need is in the files foreign_*.go.
//
// The package has no path and no encoding (package layout has them). It does no input or
// output, and has no clock, goroutine, lock or random source. These belong to package
// runner, or to the simulator, which runs the same Step.
//
// Flow: runner.loop → Step(state, now, input) → Plan → commit and effects → their results
// come back as inputs. Start reading at Step.
package protocol
