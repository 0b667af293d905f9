// Package v1 spells what ElasticJob 1 keeps in its own way: the configuration, of which
// each key is a node. It decides nothing. Members are known there by the addresses of their
// servers; jobtree.ByAddress spells that, jobtree.KeyNodes the nodes of keys, and servertree
// has the table of all nodes.
//
// Flow: Decode reads the texts of keys, Encode writes them, and Update says which differ;
// Later and FromJob are the ways from and to a job.
package v1
