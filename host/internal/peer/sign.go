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

// The schemes of the header Authorization. Who was allowed to read is not
// thereby allowed to bring.
const (
	schemeFetch  = "wasmjobd-peer"
	schemeUpload = "wasmjobd-bring"
)

func schemeOf(method string) string {
	if method == http.MethodPut {
		return schemeUpload
	}
	return schemeFetch
}

// maxAge is how old a signature may be, and how far the clocks of two servers
// may be apart.
const maxAge = 5 * time.Minute

// sign proves knowledge of the token for one module, one server and one moment.
// It names the server that is asked: what one server is told cannot be said to
// another.
func sign(token, scheme, server, digest string, at time.Time) string {
	when := strconv.FormatInt(at.Unix(), 10)
	return scheme + " " + when + " " + hex.EncodeToString(mac(token, scheme, server, digest, when))
}

func mac(token, scheme, server, digest, when string) []byte {
	h := hmac.New(sha256.New, []byte(token))
	// None of the parts contains a line break.
	h.Write([]byte(scheme + "\n" + server + "\n" + digest + "\n" + when))
	return h.Sum(nil)
}

// proofHeader is where who was asked shows that it knows the token, too.
const proofHeader = "Wasmjobd-Proof"

// proofOf answers a signature that was found right. Nobody else can, as it was made
// for one server.
func proofOf(token, authorization string) string {
	h := hmac.New(sha256.New, []byte(token))
	h.Write([]byte("wasmjobd-proof\n" + authorization))
	return hex.EncodeToString(h.Sum(nil))
}

// verify tells whether header is a signature as sign makes it.
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
