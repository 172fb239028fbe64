//go:build unix

package consortium

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/cmd/conch/internal/lab/attacker"
	"github.com/conchhq/conch/cmd/conch/internal/lab/oldhead"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
)

// arm prepares what some faults of chaos need: a node that asks the chain by way of a proxy, and one with a clock of its own.
func (s *site) arm(ctx context.Context) (err error) {
	if s.cfg.Chaos == nil {
		return nil
	}
	n := len(s.All)
	s.behind, s.turned = s.All[int(s.cfg.Chaos.Seed%uint64(n))], s.All[int((s.cfg.Chaos.Seed+2)%uint64(n))]
	if s.old, err = oldhead.New(s.Chain.HTTP); err != nil {
		return err
	}
	s.behind.chain = s.old.URL()
	s.turned.clock, s.noClock = skew.New(ctx)
	s.Afterwards(func() error {
		s.old.Close()
		_ = s.turned.clock.Remove() // or the folder is removed at the next start of a server
		return nil
	})
	return nil
}

// attackers makes the attacker, which has the key of the member before the one whose clock can be turned.
func (s *site) attackers(ctx context.Context) (err error) {
	if s.cfg.Chaos == nil {
		return nil
	}
	at := int((s.cfg.Chaos.Seed + 1) % uint64(len(s.All)))
	if s.bandit, err = attacker.New(ctx, attacker.Config{
		URL: s.Chain.HTTP, Chain: s.Chain.ChainID, Contract: s.contract, Member: s.All[at].secret, Place: uint64(at),
	}); err != nil {
		return fmt.Errorf("preparing the attacker: %w", err)
	}
	return nil
}
