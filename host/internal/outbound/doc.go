// Package outbound sends the HTTP requests of guests, and only those that are
// granted. Clients refuse what no grant names, look again at every redirect,
// and at every address when it is dialled, so that neither a redirect nor a
// name server leads a guest to a neighbour of the host.
//
// It is not for reading what a guest wrote, nor for counting its calls or
// bounding bodies: that is the sandbox's. It knows no proxy, no cookie and no
// cache.
//
// The flow:
//
//	Parse   text of a grant → Grant, which config holds against the ceiling
//	New     grants → Client
//	Do      request → headers → grants → dial, each address → answer
//	        └── redirect → headers cut down → grants → …
package outbound
