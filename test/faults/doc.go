// Package faults runs real servers on a real ZooKeeper ensemble and imitates failures of
// machines: it kills, freezes and stops them, and cuts them off by dropping their packets
// in the kernel. It contains only tests, which need root and some minutes: make faults.
// The simulator searches the rules far more widely; these tests show that the programs
// keep them.
//
// Flow: create network namespaces behind a router that can drop packets → start an
// ensemble of three and, for each fault, three servers with jobs of every tempo → guests,
// built from the folder guest, append their actions to one file, and so do the commands
// of one job, which are this test binary again → when the fault is over and every item
// runs again, stop the servers, and package evidence compares the file with the rows of
// their histories.
//
// make upgrade runs servers of two programs, today's and an earlier commit's, on one
// ZooKeeper on this machine, and checks them in the same way.
package faults
