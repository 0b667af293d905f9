// Package admin is the HTTP API for operators, the Unix socket on which a server
// serves it, and the listener for other machines. Only the server's own process can
// reach the registry inside it, so commands send their requests to the server. The
// package decides nothing about jobs: each request is one call of an
// operator.Operator. It is not for guests, nor for modules that servers send each
// other; those use host/internal/outbound and host/internal/peer.
//
// Flow: Listen makes the socket in the data directory, ListenTCP a port → Serve accepts
// a bounded number of connections → the Handler identifies the caller, and the table of
// routes says which right it needs → the route opens an Operator for the request. Rows
// and logs that only another server has are fetched from it, by a request that this
// server signs for the caller. Dial finds the socket and returns a Client with the
// methods of the Operator; errors have the same code and text as there.
package admin
