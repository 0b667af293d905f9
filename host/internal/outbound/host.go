package outbound

import (
	"net/netip"
	"strings"
)

// host is the host of a request, or the pattern of a grant.
type host struct {
	name     string     // lower case; for a pattern, the part after "*."
	addr     netip.Addr // set for an address, which has no name
	wildcard bool       // pattern: one label before name, or any public host if name is ""
}

const localhost = "localhost"

// parseHost parses a host without brackets. All spellings of an address give the
// same host; a text that some resolvers read as an address and others as a name is
// refused. The second result is the problem, or "".
func parseHost(s string) (host, string) {
	if strings.Contains(s, ":") {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return host{}, "is not an IPv6 address"
		}
		if addr.Zone() != "" {
			return host{}, "has a zone, which is valid on one machine only"
		}
		return host{addr: addr.Unmap()}, ""
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return host{addr: addr}, ""
	}
	s = lower(s)
	if len(s) > 253 {
		return host{}, "is longer than 253 bytes"
	}
	last := ""
	for label := range strings.SplitSeq(s, ".") {
		if why := labelFault(label); why != "" {
			return host{}, why
		}
		last = label
	}
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return host{}, "ends in a number but is not an address in canonical form"
	}
	return host{name: s}, ""
}

// labelFault returns what is wrong with a label of a name in lower case, or "".
func labelFault(label string) string {
	if label == "" {
		return "has an empty label"
	}
	if len(label) > 63 {
		return "has a label of more than 63 bytes"
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return "has a label that begins or ends with a hyphen"
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c >= 0x80:
			return "is not ASCII; write its xn-- form"
		default:
			return "has a character that is invalid in a name"
		}
	}
	return ""
}

// lower converts ASCII letters only: Unicode has letters whose lower case is ASCII.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

func (h host) isAddress() bool { return h.addr.IsValid() }

// isAnyPublic reports whether h is the pattern "*".
func (h host) isAnyPublic() bool { return h.wildcard && h.name == "" }

// covers reports whether h stands for every host that o stands for.
func (h host) covers(o host) bool {
	switch {
	case h.isAnyPublic(): // a name may lead to a private address; dial prevents that
		return o.isAnyPublic() || o.name != localhost && (!o.isAddress() || isPublic(o.addr))
	case h.wildcard && !o.wildcard:
		_, rest, ok := strings.Cut(o.name, ".")
		return ok && rest == h.name
	}
	return h == o
}

// String returns the host as written in a URL.
func (h host) String() string {
	switch {
	case h.isAnyPublic():
		return "*"
	case h.wildcard:
		return "*." + h.name
	case h.isAddress() && h.addr.Is6():
		return "[" + h.addr.String() + "]"
	case h.isAddress():
		return h.addr.String()
	}
	return h.name
}
