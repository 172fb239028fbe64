package pg

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// probePatience bounds the second client of the probe: in a full pool it would
	// wait for a backend.
	probePatience = 5 * time.Second
	// deathPatience is how long the last question waits for its answer, which in
	// session mode takes a millisecond and a round trip, or longer on a busy machine:
	// silence is taken for a pool that shares. What is left of probePatience is for
	// the questions before it and the words after it.
	deathPatience = 3 * time.Second
)

// refuseShared decides what kind of pooler is in between, once it is known that
// there is one: the backend that answered is not the one announced at the start.
//
// Asking the same connection twice proves nothing: an idle pool in transaction
// mode hands out first the backend that was used last, so one client alone always
// meets the same. What does prove it is the failure itself, made on purpose: a
// second client of ours asks while the first is idle. In transaction mode the
// first client's backend lies in the pool, on top, and the second client is given
// it: one question, refused. The second client asks twice in a row because a pool
// may also hand out the backend unused longest, and then shows it two.
//
// The session itself has made one round trip by then, and its probe another; what
// follows only finds the words of the refusal (naming.go).
//
// That answer alone refuses; its absence allows nothing yet, see ownsBackend.
// No answer at all is refused like everything in doubt.
func (s *Session) refuseShared(ctx context.Context, parsed *pgx.ConnConfig, first uint32) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	second, err := dial(ctx, parsed)
	if err != nil {
		return s.unsure(ctx, parsed, err)
	}
	defer second.discard()

	seen := map[*Session]uint32{s: first}
	for _, client := range []*Session{second, second, s} {
		now, err := client.ask(ctx, questionSQL)
		if err != nil {
			return s.unsure(ctx, parsed, err)
		}
		before, asked := seen[client]
		seen[client] = now.backend
		if (asked && before != now.backend) || seen[s] == seen[second] {
			return sharedError(ctx, parsed, second)
		}
	}
	return second.ownsBackend(ctx, parsed)
}

// ownsBackend is the proof the other way round: the second client makes its
// backend mortal, by a timeout of a millisecond for idle sessions, and waits. A
// client that owns its backend dies with it, unasked. A client whose backend went
// back into a pool hears nothing, whatever order or timing the pool has: there the
// pool only loses an idle backend, which it replaces. Busy pools and poolers with
// many threads can deceive the comparison of process ids; they cannot fake this.
//
// It comes second, and on the second client, so that a pool in transaction mode is
// seldom troubled by it, and the session that is to stay never is.
func (s *Session) ownsBackend(ctx context.Context, parsed *pgx.ConnConfig) error {
	if _, err := s.ask(ctx, questionSQL+", pg_catalog.set_config('idle_session_timeout', '1', false)"); err != nil {
		return s.unsure(ctx, parsed, err)
	}
	waiting, cancel := context.WithTimeout(ctx, deathPatience)
	defer cancel()
	for {
		_, err := s.conn.WaitForNotification(waiting)
		switch {
		case err == nil: // somebody's NOTIFY on a channel the backend had kept
		case errors.Is(err, context.Canceled):
			return err
		case pgconn.Timeout(err) || !IsLost(err):
			return sharedError(ctx, parsed, s)
		default:
			return nil
		}
	}
}
