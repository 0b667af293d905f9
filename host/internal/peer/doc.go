// Package peer passes modules between servers: whoever has the bytes of a job's
// module gives them to whoever asks for their digest, and an operator brings new
// ones to servers the same way. It is not for judging or running modules, and it
// knows no registry: of whom to ask is told to it, and whether a digest may be
// given is asked of the Shelf.
//
// What a peer sends is trusted in nothing. It is read up to a bound and within a
// time, and kept only if it has the digest that was asked for; a redirect is
// never followed. Who asks proves that it knows the token of the servers without
// sending it, so that a false address in the registry learns nothing; and who is
// to be brought a module proves it first.
//
// Flow: Server.Run answers GET /modules/{sha256} from the Shelf; Client.Fetch
// asks one address after the other in random order and puts what it gets into
// the Store. Client.Bring asks one address with HEAD, then sends PUT
// /modules/{sha256}, and the Server there puts it into its own Store.
package peer
