package pgmint

import (
	"context"
	"errors"
	"fmt"

	"github.com/conchhq/conch/election/mint"
)

// rehearse makes a bid that wins, a heartbeat, a bid that is refused and a farewell, for a scope that
// no candidate uses, and undoes them. The first time on a session takes milliseconds longer, for
// compiling and planning, and would otherwise fall into a takeover.
//
// It ignores a failure of these calls, which the first bid reports. It returns an error if it cannot
// undo them, which includes the lock of the scope: that lock outlives the transaction.
func (s *session) rehearse(ctx context.Context) error {
	if len(s.who.Scopes) == 0 {
		return nil
	}
	tx, err := s.pg.Conn().Begin(ctx)
	if err != nil {
		return s.failure("rehearse", err)
	}
	scope := fmt.Sprintf("conch: rehearsal of %x", uint64(s.process))
	s.keys[scope] = scopeKey(scope)
	if s.makeCalls(ctx, scope) != nil {
		s.locked[scope] = s.bySession() // the bid that failed may have locked it
	}
	err = errors.Join(tx.Rollback(ctx), s.unlock(ctx, []string{scope}))
	delete(s.locked, scope)
	delete(s.minted, scope)
	delete(s.keys, scope)
	if err != nil {
		return s.failure("undo the rehearsal", err)
	}
	return nil
}

func (s *session) makeCalls(ctx context.Context, scope string) error {
	bids := []mint.Bid{{Scope: scope}} // without a lease a bid uses up no id of the history
	results, err := s.bid(ctx, bids)
	if err != nil || results[0].Outcome != mint.Won {
		return err
	}
	token := results[0].Token
	if _, err := s.Beat(ctx, []mint.Pulse{{Token: token, Settle: true}}); err != nil {
		return err
	}
	who := s.who
	s.who.Takeover = "another"
	_, err = s.bid(ctx, bids)
	s.who = who
	if err != nil {
		return err
	}
	_, err = s.Release(ctx, []mint.Farewell{{Token: token, Released: true}})
	return err
}
