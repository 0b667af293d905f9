// Package definition is what a job is, whatever the layout in which the registry
// keeps it: the configuration that members of ElasticJob read, which a layout
// decodes into a Config, and what that has no key for, the Module. It merges what
// a server's file says with what the registry holds and with what was applied
// before. It is pure, and knows no path.
package definition
