package pgmint

import (
	"context"
	"fmt"

	"github.com/conchhq/conch/election"
)

// rehearse plays a whole tenure of a scope that nobody knows, and takes it back: a bid
// that is refused, one that wins, a heartbeat, a farewell. What they run is compiled and
// planned by then. The first time on a session is slower by milliseconds than the next,
// and would come when everybody waits for it.
//
// It may fail: then the first bid says why. The transaction is undone, with its rows and
// notifications, and the lock of the scope, which would outlive it, is given back.
func (s *session) rehearse(ctx context.Context) {
	if len(s.who.Scopes) == 0 {
		return
	}
	conn := s.pg.Conn()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return
	}
	scope := fmt.Sprintf("conch: rehearsal of %x", uint64(s.process))
	s.keys[scope] = LockKey(scope)
	if s.play(ctx, scope) != nil {
		s.locked[scope] = s.bySession() // a bid that failed may have got that far
	}
	_ = tx.Rollback(ctx)
	_ = s.unlock(ctx, []string{scope})
	delete(s.locked, scope)
	delete(s.minted, scope)
	delete(s.keys, scope)
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
