// Package layout spells the protocol's facts in the nodes and values of
// ElasticJob-Lite 2.1, and reads them back. It is the only package that knows
// a path. It decides nothing: what is written is a protocol.Mutation, what is
// read becomes a protocol.View.
//
// Flow: mirror changes → Decoder.Apply → Decoder.View → protocol.Step →
// Job.Encode → registry commit. The nodes and who writes them are listed in
// docs/PROTOCOL.md.
package layout
