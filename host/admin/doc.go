// Package admin is the HTTP API for operators, and the Unix socket on which a
// server answers it. The registry inside a server belongs to its process, so a
// verb asks the server. The package decides nothing: each request is one call
// of an operator.Operator. It is not for guests or other servers; those use
// host/internal/outbound and host/internal/peer.
//
// Flow: Listen makes the socket in the data directory → Serve takes connections
// within its bounds → NewHandler has the routes, each of which opens an
// Operator for its request. Dial finds the socket and gives a Client with the
// methods of the Operator; errors have the same code and text as there.
package admin
