// Package v20 spells what only ElasticJob-Lite 2.0 does in its way: a configuration as JSON
// in one node, like that of 2.1 without one key. It decides nothing. Members are identified
// by the addresses of their servers: jobtree.ByAddress spells that, and servertree has the
// table of the nodes.
package v20
