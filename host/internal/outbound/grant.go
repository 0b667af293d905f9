package outbound

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MaxGrant is the maximum length of a grant in bytes.
const MaxGrant = 2048

// methods returns the methods that a grant can name. CONNECT and TRACE are excluded:
// a tunnel has no URL to check, and TRACE reveals headers.
func methods() []string {
	return []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
}

// Grant is a set of requests: those with one method, or any, to one scheme, host and
// port, and to all paths below one.
type Grant struct {
	method string // "" means any of methods
	scheme string
	host   host
	port   uint16
	path   []string // decoded segments
}

// Fault is an error in the text of a grant.
type Fault struct {
	Text    string
	At      int    // byte offset in Text
	Problem string // does not repeat Text
	Hint    string // how to correct it
}

// Error implements error.
func (f *Fault) Error() string {
	return fmt.Sprintf("grant %q: %s (%s)", f.Text, f.Problem, f.Hint)
}

// Parse parses a grant, "[METHOD ]scheme://host[:port][/path]". The host is a name,
// an address, or a pattern "*.name" for exactly one more label; the URL "https://*"
// stands for every public host. A path includes all paths below it. The error is a
// *Fault.
func Parse(text string) (Grant, error) {
	p := parser{text: text}
	g := p.grant()
	if p.fault != nil {
		return Grant{}, p.fault
	}
	return g, nil
}

// parser reads a text once and keeps the first fault.
type parser struct {
	text  string
	pos   int
	fault *Fault
}

// fail records a fault at a byte offset, unless there is one already.
func (p *parser) fail(at int, problem, hint string) {
	if p.fault == nil {
		p.fault = &Fault{Text: p.text, At: at, Problem: problem, Hint: hint}
	}
}

// rest returns the text that was not read yet.
func (p *parser) rest() string { return p.text[p.pos:] }

// grant parses the whole text. After a fault the result is meaningless.
func (p *parser) grant() Grant {
	const shape = `write "https://host/path" or "GET https://host/path"`
	if len(p.text) > MaxGrant {
		p.text = p.text[:64] + "..."
		p.fail(0, fmt.Sprintf("it is longer than %d bytes", MaxGrant), "write a shorter path")
		return Grant{}
	}
	if i := strings.IndexFunc(p.text, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }); i >= 0 {
		p.fail(i, "it has a control character or a backslash", "remove it")
	}
	var g Grant
	if method, _, ok := strings.Cut(p.text, " "); ok {
		if !slices.Contains(methods(), method) {
			p.fail(0, strconv.Quote(method)+" is not a method that can be granted", "write one of "+strings.Join(methods(), ", ")+", or none for all")
		}
		g.method, p.pos = method, len(method)+1
	}
	if i := strings.IndexByte(p.rest(), ' '); i >= 0 {
		p.fail(p.pos+i, "it has too many spaces", shape)
	}
	scheme, _, ok := strings.Cut(p.rest(), "://")
	switch {
	case !ok:
		p.fail(p.pos, "it has no scheme", shape)
	case scheme != "http" && scheme != "https":
		p.fail(p.pos, strconv.Quote(scheme)+" is not a scheme that can be granted", "write http or https")
	}
	if p.fault != nil {
		return Grant{}
	}
	g.scheme, p.pos = scheme, p.pos+len(scheme)+len("://")
	if i := strings.IndexAny(p.rest(), "?#"); i >= 0 {
		p.fail(p.pos+i, "a query or a fragment cannot be granted", "remove it; a path is granted with every query")
	}
	end := len(p.text)
	if i := strings.IndexByte(p.rest(), '/'); i >= 0 {
		end = p.pos + i
	}
	g.host, g.port = p.authority(g.scheme, p.text[p.pos:end])
	p.pos = end
	g.path = p.path()
	if g.host.isAnyPublic() && (g.scheme != "https" || g.port != 443 || len(g.path) > 0) {
		p.fail(p.pos, "a grant for every public host needs https, the default port and no path", `write "https://*", or name hosts`)
	}
	return g
}

// authority parses s, the part between scheme and path: a host or a pattern, and a port.
func (p *parser) authority(scheme, s string) (host, uint16) {
	offset := p.pos
	if strings.Contains(s, "@") {
		p.fail(offset, "a user cannot be granted", "remove the part before @")
		return host{}, 0
	}
	name, port, given := s, "", false
	if strings.HasPrefix(s, "[") {
		inside, after, ok := strings.Cut(s[1:], "]")
		if !ok || after != "" && after[0] != ':' || !strings.Contains(inside, ":") {
			p.fail(offset, "the address in brackets is not IPv6", "write it as [2001:db8::1]")
			return host{}, 0
		}
		name, port, given = inside, strings.TrimPrefix(after, ":"), after != ""
	} else if i := strings.LastIndexByte(s, ':'); i >= 0 {
		if strings.IndexByte(s, ':') != i {
			p.fail(offset, "an IPv6 address needs brackets", "write it as [2001:db8::1]")
			return host{}, 0
		}
		name, port, given = s[:i], s[i+1:], true
	}
	n := defaultPort(scheme)
	if given {
		var ok bool
		if n, ok = parsePort(port); !ok {
			p.fail(offset+len(s)-len(port), strconv.Quote(port)+" is not a port", "write a number from 1 to 65535")
		}
	}
	return p.pattern(offset, name), n
}

// pattern parses a host, "*.name" or "*". offset is its position, for faults.
func (p *parser) pattern(offset int, s string) host {
	if s == "*" {
		return host{wildcard: true}
	}
	suffix, wild := strings.CutPrefix(s, "*.")
	if i := strings.IndexByte(suffix, '*'); i >= 0 {
		p.fail(offset+len(s)-len(suffix)+i, `"*" can only replace the whole first label`, `write "*.example.org"`)
		return host{}
	}
	h, why := parseHost(suffix)
	switch {
	case suffix == "":
		p.fail(offset, "it has no host", "name one")
	case why != "":
		p.fail(offset, "the host "+strconv.Quote(s)+" "+why, "write a DNS name or an address")
	case wild && h.isAddress():
		p.fail(offset, "an address has no labels", "write the whole address")
	}
	h.wildcard = wild
	return h
}

// path parses the rest as segments. It ignores a trailing slash.
func (p *parser) path() []string {
	text := strings.TrimSuffix(p.rest(), "/")
	if text == "" {
		return nil
	}
	var out []string
	offset := p.pos
	for segment := range strings.SplitSeq(text[1:], "/") {
		offset++
		plain, err := url.PathUnescape(segment)
		switch {
		case err != nil:
			p.fail(offset, strconv.Quote(segment)+" has a wrong escape", "write % and two hex digits, or %25 for a percent sign")
		case segment == "":
			p.fail(offset, "the path has an empty segment", "write one slash")
		case !unambiguous(plain):
			p.fail(offset, strconv.Quote(segment)+" is a segment that servers read differently", "write the path without dot segments, backslashes and escaped slashes")
		case strings.Contains(plain, "*"):
			p.fail(offset, `"*" has no meaning in a path`, "end the path before it; all paths below are granted")
		}
		out = append(out, plain)
		offset += len(segment)
	}
	return out
}

// parsePort parses a port in its canonical form.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0 && strconv.FormatUint(n, 10) == s
}

// defaultPort returns the port of URLs without one.
func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// String returns the canonical form of the grant, which Parse accepts.
func (g Grant) String() string {
	var b strings.Builder
	if g.method != "" {
		b.WriteString(g.method + " ")
	}
	b.WriteString(g.scheme + "://" + g.host.String())
	if g.port != defaultPort(g.scheme) {
		b.WriteString(":" + strconv.Itoa(int(g.port)))
	}
	for _, segment := range g.path {
		b.WriteString("/" + url.PathEscape(segment))
	}
	return b.String()
}
