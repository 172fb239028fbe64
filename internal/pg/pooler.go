package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

const poolTransaction = "transaction"

// probePatience bounds the second client of the probe: a pool in session mode
// that is full makes it wait for a backend, which proves nothing against it.
const probePatience = 2 * time.Second

// refuseShared decides what kind of pooler is in between, once it is known that
// there is one: the backend that answered is not the one announced at the start.
//
// Asking the same connection twice proves nothing: an idle pool in transaction
// mode hands the backend used last out first, so one client alone always meets
// the same. What does prove it is the failure itself, made on purpose: a second
// client of ours asks while the first is idle. In transaction mode the first
// client's backend lies in the pool, on top, and the second client is given it:
// one question, refused. In session mode that backend is ours alone, so it can
// never answer anybody else.
//
// A pool may also hand out the backend unused longest. Then with k backends lying
// idle the sequence of questions walks round a circle of k, so the order below
// asks each client twice in a row at some point: for every k either a client
// meets another backend than before or the two meet one and the same.
//
// A busy pool moves backends about by itself, which the same comparisons see.
func (s *Session) refuseShared(ctx context.Context, parsed *pgx.ConnConfig, first uint32) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	second, err := dial(ctx, parsed)
	if err != nil {
		return sessionModeIsFull(ctx, err)
	}
	defer second.discard()

	seen := map[*Session]uint32{s: first}
	for _, client := range []*Session{second, second, s, second, s, s} {
		backend, err := client.currentBackend(ctx)
		if err != nil {
			if client == second {
				return sessionModeIsFull(ctx, err)
			}
			return err
		}
		before, asked := seen[client]
		seen[client] = backend
		moved := asked && before != backend
		if moved || (len(seen) == 2 && seen[s] == seen[second]) {
			return &PoolerError{Mode: poolTransaction, Target: s.target}
		}
	}
	return nil
}

// sessionModeIsFull: a second client that finds no free backend while the first
// is idle is the mark of a pool in session mode. Any other failure is one.
func sessionModeIsFull(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || isTooMany(err) {
		return nil
	}
	return err
}

func (s *Session) currentBackend(ctx context.Context) (uint32, error) {
	got, err := s.ask(ctx, "SELECT pg_backend_pid(), current_setting('server_version_num'), pg_is_in_recovery()")
	return got.backend, err
}
