// Package spelling has what every layout spells alike: the values of this project's own
// nodes, the parts of a definition, the queues of latches, and how large all that may
// become. It does not know where a node is: jobtree does.
package spelling
