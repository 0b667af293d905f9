// Package protocol decides. It is the whole coordination protocol of a job as a pure
// function: what one member knows (a View of the job's nodes, its own guests, the time
// that it is given) and one Input give one Plan, that is at most one Mutation to commit
// and some Effects to carry out.
//
// Members are ours, or foreign: members of ElasticJob, which share the classical nodes
// and keep no records. What is only for them is in the files foreign_*.go.
//
// It holds no path and no encoding (package layout), does no input or output,
// has no clock, goroutine, lock or random source; all of these belong to
// package runner, or to the simulator, which runs the very same Step.
//
// Flow: runner.loop → Step(state, now, input) → Plan → commit and effects → their
// results come back as inputs. Start reading at Step.
package protocol
