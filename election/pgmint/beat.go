package pgmint

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election"
)

// errBuried: others found the lock on this process's key free, or an operator
// advanced the epoch of a scope that it led.
var errBuried = errors.New("this process was declared dead in conch.process: its process key was free for others to lock, or the epoch of one of its scopes was advanced")

// Beat renews all terms in one statement.
func (s *session) Beat(ctx context.Context, pulses []election.Pulse) ([]bool, error) {
	if len(pulses) > 0 && !s.bySession() {
		return s.beatProcess(ctx, pulses)
	}
	scopes := make([]string, len(pulses))
	terms := make([][16]byte, len(pulses))
	settle := make([]bool, len(pulses))
	for i, p := range pulses {
		scopes[i], terms[i], settle[i] = p.Token.Scope, p.Token.Term, p.Settle
	}
	if err := s.touch(ctx); err != nil {
		return nil, s.failure("stay registered", err)
	}
	if len(pulses) == 0 {
		if _, err := s.pg.Conn().Exec(ctx, `SELECT 1`); err != nil {
			return nil, s.failure("keep the session", err)
		}
		return nil, nil
	}
	renewed, err := ask(ctx, s.pg, pgx.RowTo[int64], `SELECT conch.beat($1, $2, $3)`, scopes, terms, settle)
	if err != nil {
		return nil, s.failure("heartbeat", err)
	}
	alive := make([]bool, len(pulses))
	for _, place := range renewed {
		alive[place-1] = true
	}
	return alive, nil
}

// beatProcess renews all terms in one row. It stands for those that this session
// minted and has neither replaced nor given up, and for no other: whoever else
// changes one of them tombstones the row.
func (s *session) beatProcess(ctx context.Context, pulses []election.Pulse) ([]bool, error) {
	scopes, terms := []string{}, [][16]byte{}
	known := make([]bool, len(pulses))
	for i, p := range pulses {
		known[i] = s.minted[p.Token.Scope] == p.Token.Term
		if p.Settle && known[i] {
			scopes, terms = append(scopes, p.Token.Scope), append(terms, p.Token.Term)
		}
	}
	alive, err := ask(ctx, s.pg, pgx.RowTo[bool], `SELECT conch.beat_process($1, $2, $3)`, s.process, scopes, terms)
	switch {
	case err != nil:
		return nil, s.failure("heartbeat", err)
	case len(alive) != 1 || !alive[0]:
		return nil, s.over("heartbeat", errBuried)
	}
	return known, nil
}
