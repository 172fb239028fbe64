package hook

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"github.com/conchhq/conch/internal/inward"
)

// errLocal refuses an address. Names are looked up anew for each connection, so each connection is checked.
var errLocal = errors.New("it leads to this host or its link, and the receiver is not declared local")

// checkAddress is the Control of a dialer: it is asked once a name was looked up, right before the connection.
func checkAddress(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%s is no address: %w", address, err)
	}
	if inward.Is(at.Addr()) {
		return fmt.Errorf("%s is not posted to: %w", address, errLocal)
	}
	return nil
}
