package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// probePatience bounds the second client of the probe: in a full pool it would
// wait for a backend.
const probePatience = 5 * time.Second

// refuseShared decides what kind of pooler is in between, once it is known that
// there is one: the backend that answered is not the one announced at the start.
//
// Asking the same connection twice proves nothing: an idle pool in transaction
// mode hands out first the backend that was used last, so one client alone always
// meets the same. What does prove it is the failure itself, made on purpose: a
// second client of ours asks while the first is idle. In transaction mode the
// first client's backend lies in the pool, on top, and the second client is given
// it: one question, refused. In session mode that backend is ours alone and can
// never answer anybody else.
//
// A pool may also hand out the backend unused longest. With k of them lying idle
// our questions then walk round a circle of k. Therefore each client asks twice in
// a row at some point: for k = 1 the two meet on one backend, for every k above
// the second client meets two, its own and another. A busy pool moves backends
// about by itself, which the same comparisons see.
//
// No answer proves nothing either way, and is refused like everything in doubt.
func (s *Session) refuseShared(ctx context.Context, parsed *pgx.ConnConfig, first uint32) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	second, err := dial(ctx, parsed)
	if err != nil {
		return &PoolerError{Mode: PoolUnknown, Target: s.target, Err: err}
	}
	defer second.discard()

	seen := map[*Session]uint32{s: first}
	for _, client := range []*Session{second, second, s, second, s, s} {
		now, err := client.ask(ctx, questionSQL)
		if err != nil {
			return &PoolerError{Mode: PoolUnknown, Target: s.target, Err: err}
		}
		before, asked := seen[client]
		seen[client] = now.backend
		if (asked && before != now.backend) || seen[s] == seen[second] {
			return &PoolerError{Mode: PoolTransaction, Target: s.target}
		}
	}
	return nil
}
