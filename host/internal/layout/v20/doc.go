// Package v20 spells what ElasticJob-Lite 2.0 keeps in its own way: the configuration, as
// JSON in one node, which is that of 2.1 without one key. All else of a job's nodes is
// servertree's. It decides nothing, and no server of ours runs a job of this layout yet.
package v20
