// Package record records what members of earlier releases of ElasticJob write:
// elastic-job-core 1.1.1, and 1.0.6 for its own features, which use layout 1, and
// elastic-job-lite-core 2.0.5, which uses layout 2.0. It contains only tests, which need
// Java, Maven and a quarter of an hour: make record. The recordings are in
// host/job/recorded, the latest play is in build/record.
//
// Flow: the Java programs in the folder java are built once for each release → each
// scenario starts members on its own ZooKeeper, and an operator that uses the release's
// own library → ZooKeeper's transaction log, divided into flows, and the lines that the
// processes printed become a file → the file is compared with the recording: nodes,
// values, their writers, the order of writes in a session, and the printed lines.
package record
