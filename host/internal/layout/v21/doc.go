// Package v21 spells the protocol's facts in the nodes and values of
// ElasticJob-Lite 2.1, and reads them back. It does not decide anything, and knows
// no other layout but by what it refuses.
package v21
