package inward_test

import (
	"net/netip"
	"testing"

	"github.com/conchhq/conch/internal/inward"
)

// C4.10: whatever form it has, an address of this host, its link or a cloud's metadata is inward.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for address, local := range map[string]bool{
		"127.0.0.1": true, "127.8.9.1": true, "::1": true, "0.0.0.0": true, "0.1.2.3": true, "::": true, "169.254.169.254": true, "fe80::1%eth0": true, "224.0.0.1": true,
		"ff02::1": true, "::ffff:127.0.0.1": true, "::ffff:169.254.169.254": true, "64:ff9b::7f00:1": true, "64:ff9b::a9fe:a9fe": true, "2002:7f00:1::": true, "::127.0.0.1": true,
		"fd00:ec2::254": true, "100.100.100.200": true, "255.255.255.255": true,
		"10.0.0.1": false, "192.168.1.1": false, "8.8.8.8": false, "2001:db8::1": false, "fd00::1": false, "64:ff9b::808:808": false,
	} {
		if got := inward.Is(netip.MustParseAddr(address)); got != local {
			t.Errorf("%s: got %t, want %t", address, got, local)
		}
	}
}
