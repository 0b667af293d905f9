// Package protocol decides. It is the whole coordination protocol of a job as
// a pure function: what one member knows (a View of the job's nodes, its own
// guests, the time it is told) and one Input give one Plan, that is at most
// one Mutation to commit and some Effects to carry out.
//
// It holds no path and no encoding (package layout), does no input or output,
// has no clock, goroutine, lock or random source; all of these belong to
// package runner, or to the simulator, which runs the very same Step.
//
// Flow: runner.loop → Step(state, now, input) → Plan → commit and effects →
// their results come back as inputs. Start reading at Step.
package protocol
