package transport

import (
	"net"
	"net/netip"
	"strings"
)

// Inward reports whether host:port leads to nobody beyond this host and its link: there may be what trusts its neighbours. Of
// names, which are not looked up, only localhost does so.
func Inward(address string) bool {
	if at, err := netip.ParseAddrPort(address); err == nil {
		ip := at.Addr().Unmap()
		return ip.IsLoopback() || ip.IsUnspecified() || ip.IsLinkLocalUnicast() || ip.IsMulticast()
	}
	host, _, err := net.SplitHostPort(address)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return err == nil && (host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost"))
}
