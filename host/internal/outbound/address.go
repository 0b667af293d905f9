package outbound

import (
	"net/netip"
	"slices"
)

// reserved are the ranges that no public host has, besides those for which netip.Addr
// has a method.
var reserved = []netip.Prefix{ // Read only.
	netip.MustParsePrefix("0.0.0.0/8"), // "this network"
	carrierGradeNAT,
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // unassigned, and broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

// credentials are ranges in which clouds give machines their credentials, besides the link-local
// ones. A guest needs a grant for the address itself.
var credentials = []netip.Prefix{ // Read only.
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
	netip.MustParsePrefix("fd00:ec2::/32"),          // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
}

// isIn reports whether one of the ranges has an address.
func isIn(ranges []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Read only.
var (
	carrierGradeNAT = netip.MustParsePrefix("100.64.0.0/10") // between a provider and its customers (RFC 6598)
	nat64           = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour       = netip.MustParsePrefix("2002::/16")
	assigned        = netip.MustParsePrefix("2000::/3") // all other ranges of IPv6 are not
)

// isPublic reports whether an address belongs to the public internet. An address
// that embeds an IPv4 address (NAT64, 6to4) is public if that one is.
func isPublic(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if addr.Is6() {
		b := addr.As16()
		switch {
		case nat64.Contains(addr):
			return isPublic(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToFour.Contains(addr):
			return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
		case !assigned.Contains(addr):
			return false
		}
	}
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !isIn(credentials, addr) && !isIn(reserved, addr)
}

// isPrivate reports whether a host on the list of private hosts may have this
// address. Link-local addresses are excluded: clouds give credentials there.
func isPrivate(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if isIn(credentials, addr) {
		return false
	}
	return addr.IsPrivate() || addr.IsLoopback() || carrierGradeNAT.Contains(addr)
}
