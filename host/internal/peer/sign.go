package peer

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// scheme is that of the header Authorization.
const scheme = "wasmjobd-peer"

// maxAge is how old a signature may be, and how far the clocks of two servers
// may be apart.
const maxAge = 5 * time.Minute

// sign proves knowledge of the token for one module, one server and one moment.
// It names the server that is asked: what one server is told cannot be said to
// another.
func sign(token, server, digest string, at time.Time) string {
	when := strconv.FormatInt(at.Unix(), 10)
	return scheme + " " + when + " " + hex.EncodeToString(mac(token, server, digest, when))
}

func mac(token, server, digest, when string) []byte {
	h := hmac.New(sha256.New, []byte(token))
	// None of the parts contains a line break.
	h.Write([]byte(scheme + "\n" + server + "\n" + digest + "\n" + when))
	return h.Sum(nil)
}

// signed tells whether header is a signature as sign makes it.
func signed(header, token, server, digest string, now time.Time) bool {
	parts := strings.Split(header, " ")
	if len(parts) != 3 || parts[0] != scheme {
		return false
	}
	unix, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || now.Sub(time.Unix(unix, 0)).Abs() > maxAge {
		return false
	}
	got, err := hex.DecodeString(parts[2])
	return err == nil && hmac.Equal(got, mac(token, server, digest, parts[1]))
}
