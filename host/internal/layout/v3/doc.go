// Package v3 spells what ElasticJob-Lite 3.0.4 keeps in its own way: the configuration,
// which is YAML beside a class in the job's own node, and the nodes by which a member
// registers itself, is asked for a run, marks what it runs and takes over. All else of a
// job's nodes is jobtree's. It decides nothing, and knows no other layout but by what it
// refuses.
package v3
