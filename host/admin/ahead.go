package admin

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/wasmjob/wasmjob/internal/connections"
)

// aheadHandler reads the body of a request before the request begins. Until then its connection
// may give way, and it has no place among those that are answered: whoever sends half a body keeps
// nobody out. At most maxBody is in memory.
type aheadHandler struct {
	h    *Handler // answers for those whose body does not come
	next http.Handler
}

// ServeHTTP implements http.Handler.
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
		// Their rate is that of wrong tokens, so that they keep no probe of the address out.
		if wait := a.h.failures.take(connections.Address(r.RemoteAddr), time.Now()); wait > 0 {
			p = tooMany("bodies from this address do not come", wait)
		}
		a.h.fail(w, r, p)
		return
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
	a.next.ServeHTTP(w, r)
}

// isUpload reports whether the body of a request goes to the disk. Another server sends none.
func isUpload(r *http.Request) bool {
	return r.Header.Get("Content-Type") == wasmType && !strings.HasPrefix(r.Header.Get("Authorization"), signedScheme)
}
