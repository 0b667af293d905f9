// Package definition is a job's definition in any layout: the configuration that members
// of ElasticJob read, which a layout decodes into a Config, and the Module, which has
// the settings that Config has no key for. It merges the definition of a server's file
// with the registry's and with what was applied before. It is pure and knows no path.
package definition
