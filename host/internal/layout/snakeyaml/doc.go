// Package snakeyaml reads the YAML of a configuration strictly and within bounds, and
// writes it byte for byte as SnakeYAML 2.2 does for ElasticJob 3. It knows no keys; each
// layout has its own.
package snakeyaml
