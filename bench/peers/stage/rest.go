//go:build linux

package stage

import (
	"context"
	"time"

	"github.com/conchhq/conch/internal/pause"
)

// rest counts the requests of all candidates while nothing happens, and reads the leader's memory.
func (t *trial) rest(ctx context.Context) error {
	if _, err := t.leader(ctx); err != nil {
		return err
	}
	if err := pause.For(ctx, 3*time.Second); err != nil {
		return err
	}
	began := time.Now()
	before, err := t.store.asked(ctx)
	if err != nil {
		return err
	}
	if err := pause.For(ctx, t.cfg.Rest); err != nil {
		return err
	}
	after, err := t.store.asked(ctx)
	if err != nil {
		return err
	}
	if !t.part.acks { // conch at the fenced door writes rows all the time, and is the same program
		t.result.Rest = number((after - before) / time.Since(began).Seconds())
	}
	m, err := t.leader(ctx)
	if err != nil {
		return err
	}
	used, err := memory(m.process)
	t.result.Memory = number(used)
	if err == nil && t.server != nil {
		used, err = memory(t.server)
		t.result.ServerMemory = number(used)
	}
	return err
}

// judge counts stale rows in the ledger, since a late acknowledgement does not prove a late write.
func (t *trial) judge(ctx context.Context) error {
	if !t.part.acks {
		return nil
	}
	n, err := t.store.stale(ctx)
	for _, zombies := range []*Zombies{&t.result.HandoffZombies, &t.result.StopZombies, &t.result.SilenceZombies} {
		zombies.Writes, zombies.In = n, min(n, 1)
	}
	return err
}
