package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Schemes of the Authorization header. They differ, so that a signature for
// reading a module cannot be used to upload one.
const (
	schemeFetch  = "wasmjobd-peer"
	schemeUpload = "wasmjobd-bring"
)

// schemeOf returns the scheme with which requests of a method are signed.
func schemeOf(method string) string {
	if method == http.MethodPut {
		return schemeUpload
	}
	return schemeFetch
}

// maxAge is the maximum age of a signature, and the maximum difference between the
// clocks of two servers.
const maxAge = 5 * time.Minute

// sign returns a signature for one module, one server and one moment. It names the
// server, so that no server can present a signature that it has received to another
// one.
func sign(token, scheme, server, digest string, at time.Time) string {
	when := strconv.FormatInt(at.Unix(), 10)
	return scheme + " " + when + " " + hex.EncodeToString(mac(token, scheme, server, digest, when))
}

// mac returns the MAC over the parts of a signature, with the token as the key.
func mac(token, scheme, server, digest, when string) []byte {
	h := hmac.New(sha256.New, []byte(token))
	// None of the parts contains a line break.
	h.Write([]byte(scheme + "\n" + server + "\n" + digest + "\n" + when))
	return h.Sum(nil)
}

// proofHeader is the header in which a server proves that it knows the token.
const proofHeader = "Wasmjobd-Proof"

// proofOf returns the proof that a server knows the token: a MAC over the signature
// that it received and verified.
func proofOf(token, authorization string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("wasmjobd-proof\n" + authorization))
	return hex.EncodeToString(h.Sum(nil))
}

// verify reports whether header is a valid signature as returned by sign.
func verify(header, token, scheme, server, digest string, now time.Time) bool {
	parts := strings.Split(header, " ")
	if len(parts) != 3 || parts[0] != scheme {
		return false
	}
	unix, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.Sub(time.Unix(unix, 0)).Abs() > maxAge {
		return false
	}
	got, err := hex.DecodeString(parts[2])
	return err == nil && hmac.Equal(got, mac(token, scheme, server, digest, parts[1]))
}
