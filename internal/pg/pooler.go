package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// probePatience limits the probe: in a full pool its client would wait for a backend.
	probePatience = 5 * time.Second
	// deathPatience is the part of it in which ownsBackend waits for the end of its
	// backend. In session mode that takes a millisecond and a round trip, or longer on a
	// busy machine; after deathPatience the pool counts as one that shares.
	deathPatience = 3 * time.Second
)

// refuseShared refuses a pooler that shares backends between clients, or that does not
// answer. It is called when a pooler is known to be in between.
//
// Two queries on one connection prove nothing: an idle pool in transaction mode hands out
// the backend that was used last, so a single client always gets the same one. So the
// probe provokes the failure: a second client sends a query while the first is idle, and
// in transaction mode gets the first client's backend. The second client asks twice
// because a pool may also hand out the backend unused longest; it then sees two of them.
// If no backend is shared, ownsBackend decides.
func (s *Session) refuseShared(ctx context.Context, first uint32) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	second, err := dial(ctx, s.at)
	if err != nil {
		return s.unsure(ctx, err)
	}
	defer leave(second.conn)

	seen := map[*Session]uint32{s: first}
	for _, client := range []*Session{second, second, s} {
		now, err := client.ask(ctx, questionSQL)
		if err != nil {
			return s.unsure(ctx, err)
		}
		before, asked := seen[client]
		seen[client] = now.backend
		if (asked && before != now.backend) || seen[s] == seen[second] {
			return sharedError(ctx, second)
		}
	}
	return second.ownsBackend(ctx)
}

// ownsBackend proves that the pool does not share: the second client sets a timeout of a
// millisecond for idle sessions and waits. If the client owns its backend, its connection
// ends with the backend. If the backend went back into a pool, the client hears nothing,
// whatever the pool's order or timing. A busy pool or a pooler with many threads can
// deceive the comparison of process ids, but not this test. It runs last and on the second
// client, so that it seldom costs a pool a backend and never the session its own.
func (s *Session) ownsBackend(ctx context.Context) error {
	if _, err := s.ask(ctx, questionSQL+", pg_catalog.set_config('idle_session_timeout', '1', false)"); err != nil {
		return s.unsure(ctx, err)
	}
	waiting, cancel := context.WithTimeout(ctx, deathPatience)
	defer cancel()
	for {
		_, err := s.conn.WaitForNotification(waiting)
		switch {
		case err == nil: // a NOTIFY on a channel to which the backend still listened
		case errors.Is(err, context.Canceled):
			return err
		case pgconn.Timeout(err) || !IsLost(err):
			return sharedError(ctx, s)
		default:
			return nil
		}
	}
}
