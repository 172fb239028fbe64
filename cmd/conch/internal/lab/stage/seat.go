package stage

import (
	"context"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// Seat returns the address at which a node is to serve what the user looks at, who has chosen it: empty if there is none, or if it is
// taken, which is said.
func Seat(ctx context.Context, chosen string, say func(string, ...any)) (at string, err error) {
	if chosen == "" {
		return "", nil
	}
	if err := web.CheckListen(chosen, false, false); err != nil {
		return "", err
	}
	probe, err := web.Listen(ctx, chosen, nil)
	if err != nil {
		say("nothing is served at %s: %v", chosen, err)
		return "", nil
	}
	if at = chosen; probe.Addr().Network() == "tcp" {
		at = probe.Addr().String() // of port 0 too
	}
	return at, probe.Close()
}
