package pgmint

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/election"
)

// rehearse plays a whole tenure of a scope that nobody knows, and takes it back: a bid
// that is refused, one that wins, a heartbeat, a farewell. What they run is compiled and
// planned by then. The first time on a session is slower by milliseconds than the next,
// and would come when everybody waits for it.
//
// It may fail: then the first bid says why. The transaction is undone, with its rows and
// notifications, and the lock of the scope, which would outlive it, is given back; a session
// that does not get that far is of no use, and the error is of that alone.
func (s *session) rehearse(ctx context.Context) error {
	if len(s.who.Scopes) == 0 {
		return nil
	}
	tx, err := s.pg.Conn().Begin(ctx)
	if err != nil {
		return s.failure("rehearse", err)
	}
	scope := fmt.Sprintf("conch: rehearsal of %x", uint64(s.process))
	s.keys[scope] = LockKey(scope)
	if s.play(ctx, scope) != nil {
		s.locked[scope] = s.bySession() // a bid that failed may have got that far
	}
	err = errors.Join(tx.Rollback(ctx), s.unlock(ctx, []string{scope}))
	delete(s.locked, scope)
	delete(s.minted, scope)
	delete(s.keys, scope)
	if err != nil {
		return s.failure("take the rehearsal back", err)
	}
	return nil
}

func (s *session) play(ctx context.Context, scope string) error {
	bids := []election.Bid{{Scope: scope}} // without a lease: no number of the history is used up
	results, err := s.bid(ctx, bids)
	if err != nil || results[0].Outcome != election.Won {
		return err
	}
	token := results[0].Token
	if _, err := s.Beat(ctx, []election.Pulse{{Token: token, Settle: true}}); err != nil {
		return err
	}
	who := s.who
	s.who.Takeover = "another"
	_, err = s.bid(ctx, bids)
	s.who = who
	if err != nil {
		return err
	}
	_, err = s.Release(ctx, []election.Farewell{{Token: token, Released: true}})
	return err
}
