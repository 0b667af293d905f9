package outbound

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
)

// target is the part of a request that grants refer to.
type target struct {
	method, scheme  string
	host            host
	port            uint16
	path            []string
	unambiguousPath bool // all servers read the path in the same way
}

// targetOf returns the target of a request. It refuses a URL that can be read in two
// ways, because the server may read it in the other way.
func targetOf(method string, u *url.URL) (target, error) {
	t := target{method: method, scheme: u.Scheme}
	switch {
	case !slices.Contains(methods(), method):
		return t, fmt.Errorf("%w: method %q", job.ErrDenied, method)
	case u.Scheme != "http" && u.Scheme != "https":
		return t, fmt.Errorf("%w: scheme %q", job.ErrDenied, u.Scheme)
	case u.Opaque != "" || u.User != nil:
		return t, fmt.Errorf("%w: a URL with a user, or without //", job.ErrDenied)
	case strings.ContainsFunc(u.RequestURI(), func(r rune) bool { return r <= 0x20 || r >= 0x7f }):
		return t, fmt.Errorf("%w: a URL with characters that must be escaped", job.ErrDenied)
	}
	var why string
	if t.host, why = parseHost(u.Hostname()); why != "" {
		return t, fmt.Errorf("%w: the host %q %s", job.ErrDenied, u.Hostname(), why)
	}
	t.port = defaultPort(u.Scheme)
	if port := u.Port(); port != "" {
		var ok bool
		if t.port, ok = parsePort(port); !ok {
			return t, fmt.Errorf("%w: the port %q", job.ErrDenied, port)
		}
	}
	t.path, t.unambiguousPath = decodeSegments(u.EscapedPath())
	return t, nil
}

// decodeSegments splits a path and decodes its segments. It returns false if a
// server may read other segments.
func decodeSegments(escaped string) ([]string, bool) {
	var out []string
	escaped = strings.TrimPrefix(escaped, "/")
	if escaped == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(escaped, "/") {
		plain, err := url.PathUnescape(part)
		if err != nil || !unambiguous(plain) {
			return nil, false
		}
		out = append(out, plain)
	}
	return out, true
}

// unambiguous reports whether all servers read a decoded segment in the same way.
// Some decode it again, treat a backslash as a slash, or remove the part after a
// semicolon before they look for dots.
func unambiguous(segment string) bool {
	for range 4 {
		if strings.ContainsFunc(segment, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '/' || r == '\\' }) {
			return false
		}
		name, _, _ := strings.Cut(segment, ";")
		if name == "." || name == ".." {
			return false
		}
		next, err := url.PathUnescape(segment)
		if err != nil || next == segment {
			return true
		}
		segment = next
	}
	return false
}

// allows reports whether the grant includes the request.
func (g Grant) allows(t target) bool {
	return (g.method == "" || g.method == t.method) &&
		g.scheme == t.scheme && g.port == t.port && g.host.covers(t.host) &&
		(len(g.path) == 0 || t.unambiguousPath && hasPrefix(g.path, t.path))
}

// Within reports whether one of limits, the grants of the server, includes all of g.
// "https://*" includes neither localhost nor addresses that are not public.
func (g Grant) Within(limits []Grant) bool {
	return slices.ContainsFunc(limits, func(c Grant) bool {
		return (c.method == "" || c.method == g.method) &&
			c.scheme == g.scheme && c.port == g.port && c.host.covers(g.host) && hasPrefix(c.path, g.path)
	})
}

// hasPrefix reports whether a path begins with the segments of prefix.
func hasPrefix(prefix, path []string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// checkField refuses a field that a guest may not send.
func checkField(f job.HTTPField) error {
	if !f.MayName() {
		return fmt.Errorf("%w: header %q", job.ErrDenied, f.Name)
	}
	if !f.MayHold() {
		return fmt.Errorf("%w: a control character in header %q", job.ErrDenied, f.Name)
	}
	return nil
}
