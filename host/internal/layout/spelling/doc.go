// Package spelling has what all layouts spell alike: the values of this project's own
// nodes, the parts of a definition, the queues of latches, and the bounds of their sizes.
// It knows no paths; jobtree has those.
package spelling
