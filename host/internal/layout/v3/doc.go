// Package v3 spells what only ElasticJob-Lite 3.0.4 does in its way: the configuration,
// which is YAML with a class in the job's own node, and the nodes with which a member
// registers, is asked for a run, marks its runs and takes over. Package jobtree has the
// rest of a job's nodes. v3 decides nothing, and knows other layouts only as far as it
// refuses them.
package v3
