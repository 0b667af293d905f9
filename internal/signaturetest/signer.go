// Package signaturetest signs modules for tests as minisign does, using only the standard
// library. It verifies nothing, and is only for tests.
package signaturetest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
)

// Signer signs with a private key.
type Signer struct {
	Public string // the key as written in a configuration
	id     []byte
	secret ed25519.PrivateKey
}

// New returns the Signer with a name. The name alone determines its key.
func New(name string) Signer {
	seed := sha256.Sum256([]byte(name))
	secret := ed25519.NewKeyFromSeed(seed[:])
	id, public := seed[:8], secret[ed25519.SeedSize:] // a key has an id; a secret key is its seed and the public one
	return Signer{base64.StdEncoding.EncodeToString(slices.Concat([]byte("Ed"), id, public)), id, secret}
}

// Sign returns the text of a signature of the bytes themselves, with a trusted comment.
func (s Signer) Sign(wasm []byte) []byte {
	const comment = "signed for tests"
	sign := ed25519.Sign(s.secret, wasm)
	both := ed25519.Sign(s.secret, slices.Concat(sign, []byte(comment)))
	return fmt.Appendf(nil, "untrusted comment: for tests\n%s\ntrusted comment: %s\n%s\n",
		base64.StdEncoding.EncodeToString(slices.Concat([]byte("Ed"), s.id, sign)), comment, base64.StdEncoding.EncodeToString(both))
}
