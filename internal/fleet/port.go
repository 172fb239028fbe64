//go:build unix

package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// LowPort returns an address on which a node can listen again after its death: its port is below those that the system
// gives to any program that dials meanwhile.
func LowPort(ctx context.Context) (address string, err error) {
	const lowest, above, tries = 20_000, 32_768, 50
	for range tries {
		address = fmt.Sprintf("127.0.0.1:%d", lowest+rand.IntN(above-lowest)) //nolint:gosec // to keep out of each other's way, not to hide anything
		probe, fault := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if fault == nil {
			return address, probe.Close()
		}
		err = fault
	}
	return "", err
}
