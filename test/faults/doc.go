// Package faults runs real servers on a real ZooKeeper ensemble and does to
// them what happens to machines: it kills, freezes and stops them, and cuts
// them off by dropping their packets in the kernel. It holds tests only, which
// need root and some minutes: make faults. The simulator searches the rules far
// more widely; these tests show that the programs keep them.
//
// Flow: it makes network namespaces behind a router that can lose packets →
// starts an ensemble of three and, for each fault, three servers with jobs of
// every tempo → guests, built from the folder guest, append what they do to one
// file, and so do the commands of one job, which are this test binary again →
// when the fault is over and every item runs again, it stops the servers, and
// package evidence compares the file with the rows of their histories.
//
// make upgrade runs servers of two programs, today's and that of an earlier
// commit, on one ZooKeeper of this machine, and checks them in the same way.
package faults
