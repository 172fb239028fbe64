// Package inward says which addresses lead to nobody beyond this host: there may be what trusts its neighbours, or a cloud that tells a
// machine its secrets. An address that somebody else has chosen must not be one of them.
package inward

import (
	"net/netip"
	"slices"
)

// metadata are addresses, beside those of the link, at which clouds tell a machine its secrets.
var metadata = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
}

// within are networks whose addresses have an address of version 4 in them: its first byte is at the given place.
var within = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2, netip.MustParsePrefix("::/96"): 12,
}

// Is reports whether an address leads to this host, to its link, or to what trusts its neighbours. Names are looked up anew for each
// connection, so ask it of each, in the Control of a dialer.
func Is(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast() || slices.Contains(metadata, ip) ||
		ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) || ip.Is4() && ip.As4()[0] == 0 {
		return true
	}
	for prefix, at := range within {
		if prefix.Contains(ip) {
			raw := ip.As16()
			return Is(netip.AddrFrom4([4]byte(raw[at : at+4])))
		}
	}
	return false
}
