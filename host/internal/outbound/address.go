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

// credentials are addresses at which clouds give machines their credentials, besides the
// link-local ones. A guest needs a grant for the address itself. Read only.
var credentials = []netip.Addr{
	netip.MustParseAddr("168.63.129.16"),   // Azure
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd20:ce::254"),    // Google Cloud
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
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && !slices.Contains(credentials, addr) && !slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// isPrivate reports whether a host on the list of private hosts may have this
// address. Link-local addresses are excluded: clouds give credentials there.
func isPrivate(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if slices.Contains(credentials, addr) {
		return false
	}
	return addr.IsPrivate() || addr.IsLoopback() || carrierGradeNAT.Contains(addr)
}
