package outbound

import (
	"net/netip"
	"strings"
)

// host is whom a request goes to, or a pattern of a grant.
type host struct {
	name     string     // lower case; of a pattern what follows "*."
	addr     netip.Addr // of a literal, which has no name
	wildcard bool       // any one label before name; any public host if that is empty
}

const localhost = "localhost"

// parseHost reads a host without brackets. Every spelling of an address has
// one form afterwards; what some resolvers read as an address and others as a
// name is refused. The second value says what is wrong.
func parseHost(s string) (host, string) {
	if strings.Contains(s, ":") {
		addr, err := netip.ParseAddr(s)
		if err != nil {
			return host{}, "is not an IPv6 address"
		}
		if addr.Zone() != "" {
			return host{}, "has a zone, which only means something on one machine"
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
		return host{}, "ends in a number and is no address in its usual form"
	}
	return host{name: s}, ""
}

func labelFault(label string) string {
	if label == "" {
		return "has an empty label"
	}
	if len(label) > 63 {
		return "has a label of more than 63 bytes"
	}
	if label[0] == '-' || label[len(label)-1] == '-' {
		return "has a label with a hyphen at its edge"
	}
	for i := range len(label) {
		switch c := label[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
		case c >= 0x80:
			return "is not ASCII; its xn-- form is wanted"
		default:
			return "has a character that no name has"
		}
	}
	return ""
}

// lower is for ASCII alone: Unicode has letters whose small form is ASCII.
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

// isAnyPublic is the pattern "*".
func (h host) isAnyPublic() bool { return h.wildcard && h.name == "" }

// covers says whether all that the pattern or host o stands for is what h
// stands for.
func (h host) covers(o host) bool {
	switch {
	case h.isAnyPublic():
		return o.isAnyPublic() || o.name != localhost && (!o.isAddress() || isPublic(o.addr))
	case h.wildcard && !o.wildcard:
		_, rest, ok := strings.Cut(o.name, ".")
		return ok && rest == h.name
	}
	return h == o
}

// String is the form in a URL.
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
