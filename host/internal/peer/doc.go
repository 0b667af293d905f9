// Package peer transfers modules between servers. A server that has a module sends
// it to any server that requests its digest, and operators upload new modules the
// same way. The package does not check or run modules, and it does not use the
// registry: callers give it addresses, and a ModuleReader decides which modules
// other servers may read.
//
// A client does not trust a server. It reads an answer up to a size and a time limit,
// never follows a redirect, and stores a module only if it has the requested digest. A
// signed request proves that the client knows the servers' token without sending it, so a
// false address in the registry reveals nothing. Before an upload the server proves the
// same to the client. The signature of a module travels in a header, and the receiver
// verifies it when it stores the module.
//
// Flow: Server.Serve answers GET /modules/{sha256} from the ModuleReader;
// Client.Fetch tries addresses in random order and puts the module into the Store.
// Client.Upload first sends HEAD to an address, then PUT /modules/{sha256}, and the
// server there puts the module into its own Store.
package peer
