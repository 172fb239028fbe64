package pgmint

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pg"
)

// Enlist changes the scopes that the candidate is registered for, in one statement that waits for no
// row. The locks of a withdrawn scope stay reserved in the budget until the session ends.
func (s *session) Enlist(ctx context.Context, r mint.Roll) error {
	fresh := slices.DeleteFunc(slices.Clone(r.Add), func(scope string) bool { return slices.Contains(s.who.Scopes, scope) })
	add, err := s.encodable(ctx, r.Add)
	if err != nil {
		return s.failure("enlist", err)
	}
	if err := s.mint.reserveMore(s, len(fresh)); err != nil {
		return err
	}
	s.who.Scopes = append(s.who.Scopes, fresh...)
	done, err := pg.QueryConfirmed(ctx, s.pg, pgx.RowTo[bool], `SELECT conch.enlist($1, $2, $3, $4)`, s.process, add, withdrawn(r), r.Longest.Milliseconds())
	switch {
	case err != nil:
		return s.failure("enlist", err)
	case len(done) != 1 || !done[0]:
		return errRollLocked
	}
	return nil
}

var errRollLocked = errors.New("the candidate's row in conch.process is locked, or was deleted")

// withdrawn returns the scopes, never nil, which would be NULL in SQL.
func withdrawn(r mint.Roll) []string { return append([]string{}, r.Withdraw...) }
