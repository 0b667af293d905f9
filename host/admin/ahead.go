package admin

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/internal/connections"
)

// aheadHandler reads the body of a request before it passes the request on. Until then the request
// takes no place, and its connection may be closed in favour of another one, so incomplete bodies keep
// no client out. It holds at most maxBody bytes in memory.
type aheadHandler struct {
	h    *Handler // answers requests whose body does not arrive
	next http.Handler
}

// ServeHTTP implements http.Handler. It reads the body of a request, unless that is an upload, before it passes the
// request on. Until then the request takes no place of those that are answered at once.
func (a aheadHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body == http.NoBody || isUpload(r) {
		a.next.ServeHTTP(w, r)
		return
	}
	// One byte more shows that there is too much, which is refused where the body is used.
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		setHeaders(w.Header())
		p := unread(err)
		// It counts as a wrong token, so that it does not use up the rate of the address's probes.
		if wait := a.h.failures.take(connections.Address(r.RemoteAddr), time.Now()); wait > 0 {
			p = tooMany("incomplete bodies come from this address", wait)
		}
		a.h.fail(w, r, p)
		return
	}
	r.Body = struct { // what was read, and the rest of a body that is too large
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
	a.next.ServeHTTP(w, r)
}

// isUpload reports whether the body of a request goes to the disk. Servers send each other no uploads.
func isUpload(r *http.Request) bool {
	return r.Header.Get("Content-Type") == wasmType && !strings.HasPrefix(r.Header.Get("Authorization"), signedScheme)
}
