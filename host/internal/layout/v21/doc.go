// Package v21 spells what ElasticJob-Lite 2.1 keeps in its own way: the configuration, and
// the values by which a member registers itself, is asked for a run, and is enabled. All
// else of a job's nodes is jobtree's. It decides nothing, and knows no other layout but by
// what it refuses.
package v21
