package pgmint

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// errBuried is the reason why the session of a process with a tombstone is over.
var errBuried = errors.New("this process was declared dead in conch.process: its process key was free for others to lock, or the epoch of one of its scopes was advanced")

// Beat renews all terms in one statement. Without any it only keeps the session alive.
func (s *session) Beat(ctx context.Context, pulses []mint.Pulse) ([]mint.Outcome, error) {
	if len(pulses) > 0 && !s.bySession() {
		return s.beatProcess(ctx, pulses)
	}
	scopes := make([]string, len(pulses))
	terms := make([][16]byte, len(pulses))
	settle := make([]bool, len(pulses))
	for i, p := range pulses {
		scopes[i], terms[i], settle[i] = p.Token.Scope, p.Token.Term, s.settles(p)
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
	type renewal struct {
		Place         int64
		Renewed, Owed bool
	}
	renewed, err := pg.QueryConfirmed(ctx, s.pg, pgx.RowToStructByPos[renewal], `SELECT * FROM conch.beat($1, $2, $3)`, scopes, terms, settle)
	if err != nil {
		return nil, s.failure("heartbeat", err)
	}
	answers := slices.Repeat([]mint.Outcome{mint.Over}, len(pulses))
	for _, r := range renewed {
		answers[r.Place-1] = mint.Locked
		if r.Renewed {
			answers[r.Place-1] = mint.Renewed
		}
		s.owe(pulses[r.Place-1].Token, r.Owed)
	}
	return answers, nil
}

// settles reports whether this heartbeat must settle the term: the caller asks for it now, or has
// asked before and the row was locked.
func (s *session) settles(p mint.Pulse) bool {
	term, owed := s.owed[p.Token.Scope]
	return p.Settle || owed && term == p.Token.Term
}

func (s *session) owe(t fence.Token, owed bool) {
	if owed {
		s.owed[t.Scope] = t.Term
	} else {
		delete(s.owed, t.Scope)
	}
}

// beatProcess renews one row, for all terms that this session minted and has neither replaced nor
// given up. Another process that changes one of them sets a tombstone on the row.
func (s *session) beatProcess(ctx context.Context, pulses []mint.Pulse) ([]mint.Outcome, error) {
	scopes, terms := []string{}, [][16]byte{}
	for _, p := range pulses {
		if s.knows(p.Token) && s.settles(p) {
			scopes, terms = append(scopes, p.Token.Scope), append(terms, p.Token.Term)
		}
	}
	type renewal struct {
		Alive *bool // nil: the row is locked
		Owed  []string
	}
	renewed, err := pg.QueryConfirmed(ctx, s.pg, pgx.RowToStructByPos[renewal], `SELECT * FROM conch.beat_process($1, $2, $3)`, s.process, scopes, terms)
	switch {
	case err != nil:
		return nil, s.failure("heartbeat", err)
	case len(renewed) != 1 || renewed[0].Alive != nil && !*renewed[0].Alive:
		return nil, s.over("heartbeat", errBuried)
	}
	answers := make([]mint.Outcome, len(pulses))
	for i, p := range pulses {
		switch {
		case !s.knows(p.Token):
			answers[i] = mint.Over
		case renewed[0].Alive == nil:
			answers[i] = mint.Locked
		default:
			answers[i] = mint.Renewed
		}
		s.owe(p.Token, slices.Contains(renewed[0].Owed, p.Token.Scope))
	}
	return answers, nil
}

// knows reports whether the session minted that term and has neither replaced nor given it up.
func (s *session) knows(t fence.Token) bool { return s.minted[t.Scope] == t.Term }
