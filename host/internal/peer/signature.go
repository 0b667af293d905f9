package peer

import (
	"encoding/base64"
	"fmt"
	"net/http"

	"github.com/wasmjob/wasmjob/host/internal/signature"
)

// signatureHeader is the header with the text of a module's signature, in Base64. It
// needs no protection, because the receiver verifies the signature when it stores the
// module.
const signatureHeader = "Wasmjobd-Module-Signature"

// encodeSignature encodes the text of a signature for a header.
func encodeSignature(text []byte) string { return base64.StdEncoding.EncodeToString(text) }

// setSignature sets the header with a module's signature, if it has one.
func setSignature(h http.Header, text []byte) {
	if len(text) > 0 {
		h.Set(signatureHeader, encodeSignature(text))
	}
}

// signatureIn returns the text of the signature in a header, or nil if there is none.
func signatureIn(h http.Header) ([]byte, error) {
	value := h.Get(signatureHeader)
	if value == "" {
		return nil, nil //nolint:nilnil // no signature is not an error
	}
	if len(value) > base64.StdEncoding.EncodedLen(signature.MaxSize) {
		return nil, fmt.Errorf("the header %s has more than %d bytes", signatureHeader, signature.MaxSize)
	}
	text, err := base64.StdEncoding.Strict().DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("the header %s is not in Base64", signatureHeader)
	}
	return text, nil
}
