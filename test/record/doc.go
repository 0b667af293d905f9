// Package record records what members of earlier releases of ElasticJob write:
// elastic-job-core 1.1.1, and 1.0.6 for what it alone has, which keep layout 1, and
// elastic-job-lite-core 2.0.5, which keeps layout 2.0. It holds tests only, which need
// Java, Maven and a quarter of an hour: make record. What is kept of it lies in
// host/job/recorded, and what was played last in build/record.
//
// Flow: the Java programs in the folder java are built once for each release →
// each scenario starts members on a ZooKeeper of its own, and an operator that
// uses the release's own library → ZooKeeper's transaction log, cut into flows,
// and the lines that the processes printed become a file → what it shows is compared with
// what is kept: nodes, values, whose they are, orders in a session, words.
package record
