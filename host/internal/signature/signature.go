// Package signature checks whether a module is signed by an accepted key. It reads public
// keys and detached signatures in the format of minisign, of the bytes themselves or of
// their hash. It knows neither files nor servers.
//
// Flow: ParseKeys reads the Keys of a configuration; Keys.Check verifies a signature of
// the bytes. Without Keys nothing is required.
package signature

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aead.dev/minisign"
)

const (
	// MaxSize is the maximum number of bytes of a signature's text. It fits into a
	// header.
	MaxSize = 2 << 10
	// MaxKeys is the maximum number of accepted keys.
	MaxKeys = 64
	// Suffix ends the name of the file with the signature of a file.
	Suffix = ".minisig"
)

var (
	// ErrUnsigned reports bytes without a valid signature by an accepted key.
	ErrUnsigned = errors.New("the module has no valid signature")
	// ErrText reports a text that is not a signature.
	ErrText = errors.New("not a signature of minisign")
)

// Signed says who signed, and what was signed besides the bytes. It proves nothing unless
// it is Valid.
type Signed struct {
	Key     string // the id of the key, in hex; empty if there is no signature
	Comment string // the trusted comment
	Valid   bool   // signed by an accepted key
}

// Parse parses the text of a signature, which must be exactly as minisign writes it.
func Parse(text []byte) (Signed, error) {
	s, err := parse(text)
	if err != nil {
		return Signed{}, err
	}
	return Signed{Key: id(s.KeyID), Comment: s.TrustedComment}, nil
}

// parse is Parse with all that the library needs for verifying. It requires one spelling
// of each signature.
func parse(text []byte) (s minisign.Signature, err error) {
	if len(text) > MaxSize {
		return s, fmt.Errorf("%w: more than %d bytes; sign with a shorter trusted comment", ErrText, MaxSize)
	}
	if err := s.UnmarshalText(text); err != nil {
		return s, fmt.Errorf("%w: %s", ErrText, strings.TrimPrefix(err.Error(), "minisign: "))
	}
	// The library ignores line breaks in Base64 and at the ends of lines.
	if again, err := s.MarshalText(); err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), bytes.TrimSuffix(text, []byte("\n"))) {
		return s, fmt.Errorf("%w: it has four lines and no other characters", ErrText)
	}
	return s, nil
}

// id returns the id of a key as minisign writes it.
func id(key uint64) string { return fmt.Sprintf("%016X", key) }

// Keys are the public keys that may sign modules. Without any, no signature is required.
type Keys []minisign.PublicKey

// ParseKeys reads public keys, each as minisign prints it: 56 characters.
func ParseKeys(texts []string) (Keys, error) {
	if len(texts) > MaxKeys {
		return nil, fmt.Errorf("more than %d keys", MaxKeys)
	}
	var keys Keys
	for _, text := range texts {
		var k minisign.PublicKey
		if err := k.UnmarshalText([]byte(text)); err != nil || k.String() != text {
			return nil, fmt.Errorf("%.80q is not a public key of minisign: write the line of 56 characters that begins with RW", text)
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// Names returns the ids of the keys.
func (k Keys) Names() string {
	var ids []string
	for _, one := range k {
		ids = append(ids, id(one.ID()))
	}
	return strings.Join(ids, ", ")
}

// Admit returns an error if text cannot be a signature of any bytes by one of the keys.
// It saves reading the bytes.
func (k Keys) Admit(text []byte) error {
	if len(k) == 0 {
		return nil
	}
	_, err := k.byID(text)
	return err
}

// byID parses a signature whose key id is accepted.
func (k Keys) byID(text []byte) (s minisign.Signature, err error) {
	if len(text) == 0 {
		return s, k.unsigned("it has no signature")
	}
	if s, err = parse(text); err != nil {
		return s, k.unsigned("its signature cannot be read: " + err.Error())
	}
	if !slices.ContainsFunc(k, func(one minisign.PublicKey) bool { return one.ID() == s.KeyID }) {
		return s, k.unsigned("it is signed by key " + id(s.KeyID) + ", which is not accepted")
	}
	return s, nil
}

// Check calls CheckFrom for bytes.
func (k Keys) Check(wasm, text []byte) (Signed, error) {
	return k.CheckFrom(bytes.NewReader(wasm), text)
}

// CheckFrom returns who signed the bytes of wasm. The error is ErrUnsigned unless text is
// a signature of them by one of the keys, including its trusted comment. Without keys,
// any empty or readable text is enough, and wasm is not read. All bytes are in memory at
// once only for a signature of the bytes themselves rather than of their hash.
func (k Keys) CheckFrom(wasm io.Reader, text []byte) (Signed, error) {
	switch {
	case len(k) == 0 && len(text) == 0:
		return Signed{}, nil
	case len(k) == 0:
		return Parse(text)
	}
	s, err := k.byID(text)
	if err != nil {
		return Signed{}, err
	}
	verify, err := verifier(wasm, s.Algorithm)
	if err != nil {
		return Signed{}, fmt.Errorf("read what is signed: %w", err)
	}
	for _, one := range k { // ids are not secret, so two keys may have the same one
		if verify(one, text) {
			return Signed{id(s.KeyID), s.TrustedComment, true}, nil
		}
	}
	return Signed{}, k.unsigned("the signature by key " + id(s.KeyID) + " is of other bytes or another comment, or forged")
}

// verifier reads the bytes, and returns a function that reports whether a text is their
// signature.
func verifier(wasm io.Reader, algorithm uint16) (func(minisign.PublicKey, []byte) bool, error) {
	if algorithm == minisign.HashEdDSA { // the library does not check that itself
		hashed := minisign.NewReader(wasm)
		_, err := io.Copy(io.Discard, hashed)
		return hashed.Verify, err
	}
	all, err := io.ReadAll(wasm)
	return func(key minisign.PublicKey, text []byte) bool { return minisign.Verify(key, all, text) }, err
}

// unsigned returns the error for a module without a valid signature, and says what to do.
func (k Keys) unsigned(why string) error {
	return fmt.Errorf("%w: %s; accepted keys: %s; sign it with minisign -Sm MODULE.wasm, and upload it again together with MODULE.wasm%s", ErrUnsigned, why, k.Names(), Suffix)
}
