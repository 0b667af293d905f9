package operator

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"

	"github.com/wasmjob/wasmjob/host"
)

// A token is written as its prefix and, in base32, 256 random bits and a checksum of both.
const (
	// TokenPrefix begins every token, so that scanners find leaked tokens.
	TokenPrefix = "wjd_"
	secretBytes = 32
	sumBytes    = 4
)

const alphabet = "abcdefghijklmnopqrstuvwxyz234567"

var base = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding) // read only

// newSecret makes a token.
func newSecret() string {
	var random [secretBytes]byte
	_, _ = rand.Read(random[:]) // it crashes the program rather than fail
	return writeSecret(random[:])
}

// writeSecret is the text of a token with these random bits.
func writeSecret(random []byte) string {
	sum := crc32.ChecksumIEEE(append([]byte(TokenPrefix), random...))
	return TokenPrefix + base.EncodeToString(binary.BigEndian.AppendUint32(random[:secretBytes:secretBytes], sum))
}

// hashOf is the hash under which a token is stored. It refuses malformed tokens without
// reading the stored ones. No error shows a part of the given text.
func hashOf(token string) (hash [sha256.Size]byte, err error) {
	text, ok := strings.CutPrefix(token, TokenPrefix)
	if want := base.EncodedLen(secretBytes + sumBytes); !ok || len(text) != want {
		return hash, failf(host.Denied, ErrToken, "the credential is not a token of wasmjobd; a token begins with %s and has %d characters", TokenPrefix, len(TokenPrefix)+want)
	}
	raw, err := base.DecodeString(text)
	if err != nil || writeSecret(raw[:secretBytes]) != token {
		return hash, failf(host.Denied, ErrToken, "the token is mistyped, or not complete")
	}
	return sha256.Sum256([]byte(token)), nil
}

// shownSecret is the longest text after TokenPrefix that HideTokens leaves: enough for other
// names with that prefix, and too little of a secret to help anyone.
const shownSecret = 16

// HideTokens returns a text for a log, without tokens and parts of tokens.
func HideTokens(text string) string {
	var shown strings.Builder
	for {
		before, rest, found := strings.Cut(text, TokenPrefix)
		shown.WriteString(before)
		if !found {
			return shown.String()
		}
		shown.WriteString(TokenPrefix)
		text = rest
		if after := strings.TrimLeft(rest, alphabet); len(rest)-len(after) > shownSecret {
			shown.WriteString("…")
			text = after
		}
	}
}

// ErrToken is the error of a token that gives its caller no right: it is malformed,
// unknown, revoked or expired.
var ErrToken = errors.New("the token is not accepted")
