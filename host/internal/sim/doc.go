// Package sim runs a whole cluster in one goroutine and in virtual time, from one seed. It
// uses the shipped protocol.Step, layout, mirror and encoder on a registry that is as weak
// as ZooKeeper. Only sockets, clocks and guests are replaced. Every transaction and every
// start of a guest is checked against all invariants. A seed that breaks one repeats
// exactly and prints what happened.
//
// It is not a load test, and does not replace the conformance suite of a real registry.
//
// Some seeds have foreign members. They act on the tree step by step as Java processes of
// ElasticJob do: of 2.1.5 or, in layout 3, of 3.0.4. Their actions are checked only where
// our members are responsible for the result.
//
// Flow of Run: it draws a world from the seed. Faults and operators disturb the cluster
// until the calm begins; then everything heals and the end state is checked. Busy worlds
// have load to their end, and their waiting runs are checked by age. Mutants, which lack a
// rule or a fence or change the code of a function, prove that the invariants notice.
//
// Each new draw changes what a seed means. So a run that broke a promise is stored in
// testdata/schedules as its draws, by the function that drew them, and replayed after every
// change. Put a new draw into a function of its own, and give a new disturbance a chance of
// at most one half; then the replays do not change. Rename a function that draws with the
// flag -rename of TestRecordedSchedules. What only some worlds have is drawn aside, so that
// the others keep their seeds.
package sim
