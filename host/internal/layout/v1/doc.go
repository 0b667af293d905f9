// Package v1 spells what only ElasticJob 1 does in its way: a configuration in which each
// key is a node. It decides nothing. Members are identified by the addresses of their
// servers: jobtree.ByAddress spells that, jobtree.KeyNodes the nodes of keys, and
// servertree has the table of all nodes.
//
// Flow: Decode reads the texts of keys, Encode writes them, and Update returns those that
// differ. Later and FromJob convert to and from a job.
package v1
