// Package admin is the HTTP API for operators, and the Unix socket on which a
// server answers it. Only the server's own process can reach the registry inside
// it, so commands send their requests to the server. The package decides
// nothing: each request is one call of an operator.Operator. It is not for
// guests or other servers; those use host/internal/outbound and
// host/internal/peer.
//
// Flow: Listen makes the socket in the data directory → Serve accepts a bounded
// number of connections → a route of NewHandler opens an Operator for each
// request. Dial finds the socket and returns a Client with the methods of the
// Operator; errors have the same code and text as there.
package admin
