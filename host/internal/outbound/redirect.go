package outbound

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
)

// followUp returns the request that follows a redirect of req, or nil if the guest gets
// the response itself. r is the guest's own request, whose body req has already sent.
func followUp(req *http.Request, resp *http.Response, r job.HTTPRequest) (*http.Request, error) {
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil //nolint:nilnil // not a redirect
	}
	method, keepBody := req.Method, false
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther: // as browsers do: GET without a body
		if method != http.MethodHead {
			method = http.MethodGet
		}
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keepBody = req.ContentLength > 0
	default:
		return nil, nil //nolint:nilnil // not a redirect that can be followed
	}
	u, err := req.URL.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrDenied, err)
	}
	var body []byte
	if keepBody {
		body = r.Body
	}
	// Do checks it against the grants.
	next, err := http.NewRequestWithContext(req.Context(), method, u.String(), bytes.NewReader(body)) //nolint:gosec // see above
	if err != nil {
		return nil, fmt.Errorf("%w: %w", job.ErrDenied, err)
	}
	next.Header = req.Header.Clone()
	stripHeaders(next.Header, sameOrigin(req.URL, next.URL), keepBody, r.Private)
	return next, nil
}

// stripHeaders removes fields that describe a body which is no longer sent and, unless the
// origin is the same, all fields that could be credentials. private lists those in which a
// secret was inserted.
func stripHeaders(h http.Header, same, keepBody bool, private []string) {
	harmless := []string{"Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "User-Agent"}
	for name := range h {
		describesBody := strings.HasPrefix(name, "Content-")
		if describesBody && !keepBody || !same && !describesBody && !slices.Contains(harmless, name) {
			delete(h, name)
		}
	}
	if !same {
		for _, name := range private {
			h.Del(name)
		}
	}
}

// sameOrigin reports whether two URLs have the same scheme, host and port. The method does
// not matter for that.
func sameOrigin(a, b *url.URL) bool {
	x, errX := targetOf(http.MethodGet, a)
	y, errY := targetOf(http.MethodGet, b)
	return errX == nil && errY == nil && x.scheme == y.scheme && x.host == y.host && x.port == y.port
}
