// Package v1 spells what ElasticJob 1 keeps in its own way: the configuration, of which
// each key is a node. All else of a job's nodes is servertree's. It decides nothing, and no
// server of ours runs a job of this layout yet.
package v1
