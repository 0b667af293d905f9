// Package v20 spells what ElasticJob-Lite 2.0 keeps in its own way: the configuration, as
// JSON in one node, which is that of 2.1 without one key. It decides nothing. Members are known there by the addresses of their
// servers; jobtree.ByAddress spells that, and servertree has the table of the nodes.
package v20
