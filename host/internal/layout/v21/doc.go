// Package v21 spells what only ElasticJob-Lite 2.1 does in its way: the configuration, and
// the values with which a member registers, is asked for a run, and is enabled. Package
// jobtree has the rest of a job's nodes. v21 decides nothing, and knows other layouts only
// as far as it refuses them.
package v21
