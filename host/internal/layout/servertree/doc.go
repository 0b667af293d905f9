// Package servertree spells the nodes that layouts 2.0 and 1 have in common. A member is
// known there by the address of its server alone, and what an item has run is a node of
// the item. The package reads trees and names nodes; no server of ours runs a job of these
// layouts yet, so nothing writes them. The configuration is what v20 and v1 spell.
//
// Flow: Nodes is the table of all nodes; NodeOf finds the row of a path; Read makes a
// State of a tree, as doctor shows it.
package servertree
