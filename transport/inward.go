package transport

import (
	"net"
	"net/netip"
	"strings"

	"github.com/conchhq/conch/internal/inward"
)

// Inward reports whether host:port leads to nobody beyond this host and its link: there may be what trusts its neighbours. Of
// names, which are not looked up, only localhost does so.
func Inward(address string) bool {
	if at, err := netip.ParseAddrPort(address); err == nil {
		return inward.Is(at.Addr())
	}
	host, _, err := net.SplitHostPort(address)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return err == nil && (host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost"))
}
