// Package faults runs real servers against a real ZooKeeper ensemble and does
// to them what happens to machines: they are killed, frozen, stopped and cut
// off from each other by a kernel that drops their packets. It is tests alone, which
// need root and some minutes: make faults. It is not for searching the rules,
// which the simulator does far more widely; it shows that the programs keep
// them.
//
// Flow: a network of namespaces is made, with a router that can lose what goes
// from one to another; an ensemble of three is started in it, and for each fault
// a cluster of three servers with jobs of every tempo. Their guests, built from
// guest, append to one file what they do, and so do the commands of one job, which
// are this test binary once more. When the fault is over and every item runs again,
// the servers are stopped and package evidence compares the file with the rows of
// their histories.
//
// make upgrade tells stories of servers of two programs, that of today and that of
// an earlier commit, on one ZooKeeper of this machine, and judges them the same way.
package faults
