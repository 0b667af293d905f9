// Package admin is the HTTP API for operators, and the Unix socket on which a
// server answers it. The registry inside a server belongs to its process, so a
// verb that is typed beside it asks the server. The package decides nothing: a
// request becomes one call of a operator.Operator. It is not for guests, nor for
// other servers; those have host/internal/outbound and host/internal/peer.
//
// Flow: Listen makes the socket in the data directory, Serve takes connections
// within its bounds, NewHandler has the routes, and each of them opens an
// Operator for its request. Dial finds the socket and gives a Client, whose
// methods are those of the Operator; an error has the same code and text as
// there.
package admin
