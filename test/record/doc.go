// Package record records what members of earlier releases of ElasticJob write:
// elastic-job-core 1.1.1, and 1.0.6 for its own features, which use layout 1, and
// elastic-job-lite-core 2.0.5, which uses layout 2.0. It contains only tests, which need
// Java, Maven and ten minutes: make record. Its results are in host/job/recorded.
//
// Flow: the Java programs in the folder java are built once for each release → each
// scenario starts members on its own ZooKeeper, and an operator that uses the release's
// own library → ZooKeeper's transaction log, divided into flows, and the lines that the
// processes printed become a file.
package record
