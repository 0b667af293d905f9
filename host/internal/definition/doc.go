// Package definition is a job's definition in any layout: the configuration for members
// of ElasticJob, which a layout decodes into a Config, and the Module, which has the
// settings without a key in Config. It merges the definition of a server's file with the
// registry's and with the one that was applied before. It is pure and knows no path.
package definition
