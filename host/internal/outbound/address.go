package outbound

import "net/netip"

// reserved returns the ranges that no public host has, besides those for which
// netip.Addr has a method.
func reserved() []netip.Prefix {
	return []netip.Prefix{
		netip.PrefixFrom(netip.AddrFrom4([4]byte{0}), 8), // "this network"
		carrierGradeNAT(), // between a provider and its customers
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 0}), 24),    // protocol assignments
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 0, 2}), 24),    // documentation
		netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 88, 99}), 24),  // relays of 6to4
		netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18}), 15),      // benchmarks
		netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 51, 100}), 24), // documentation
		netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113}), 24),  // documentation
		netip.PrefixFrom(netip.AddrFrom4([4]byte{240}), 4),           // unassigned, and broadcast
		netip.PrefixFrom(v6(0x20, 0x01), 23),                         // protocol assignments, Teredo among them
		netip.PrefixFrom(v6(0x20, 0x01, 0x0d, 0xb8), 32),             // documentation
		netip.PrefixFrom(v6(0x3f, 0xff), 20),                         // documentation
	}
}

// carrierGradeNAT returns the range that providers use for their customers (RFC
// 6598).
func carrierGradeNAT() netip.Prefix { return netip.PrefixFrom(netip.AddrFrom4([4]byte{100, 64}), 10) }

func v6(first ...byte) netip.Addr {
	var b [16]byte
	copy(b[:], first)
	return netip.AddrFrom16(b)
}

// isPublic reports whether an address belongs to the public internet. An address
// that embeds an IPv4 address (NAT64, 6to4) is public if that one is.
func isPublic(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if addr.Is6() {
		b := addr.As16()
		switch {
		case netip.PrefixFrom(v6(0x00, 0x64, 0xff, 0x9b), 96).Contains(addr): // NAT64
			return isPublic(netip.AddrFrom4([4]byte(b[12:16])))
		case netip.PrefixFrom(v6(0x20, 0x02), 16).Contains(addr): // 6to4
			return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
		case !netip.PrefixFrom(v6(0x20), 3).Contains(addr): // all other ranges are unassigned
			return false
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range reserved() {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// isPrivate reports whether a host on the list of private hosts may have this
// address. Link-local addresses are excluded: clouds serve credentials there.
func isPrivate(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsPrivate() || addr.IsLoopback() || carrierGradeNAT().Contains(addr)
}
