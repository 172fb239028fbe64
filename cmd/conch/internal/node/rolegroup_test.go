package node

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election/mint"
)

// clerk is a mint that records the scopes that candidates withdraw from.
type clerk struct {
	mint.Mint
	s *stage
}

func (m clerk) Open(ctx context.Context, c mint.Candidate) (mint.Session, error) {
	s, err := m.Mint.Open(ctx, c)
	return clerkSession{s, m.s}, err
}

type clerkSession struct {
	mint.Session
	s *stage
}

func (c clerkSession) Enlist(ctx context.Context, r mint.Roll) error {
	c.s.mu.Lock()
	c.s.deaf--
	deaf := c.s.deaf >= 0
	if !deaf {
		c.s.gone = append(c.s.gone, r.Withdraw...)
	}
	c.s.mu.Unlock()
	if deaf {
		return errors.New("no room in the log")
	}
	return c.Session.Enlist(ctx, r)
}

// The database is told of removed roles until it has accepted that, and awaitWithdrawn waits for it.
func TestARemovedRoleIsWithdrawn(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		s.mint = clerk{s.mint, s}
		r := s.electors("n1")
		s.assign(r, config.Role{Scope: "stays"}, config.Role{Scope: "goes"})
		s.deaf = 2
		if err := r.assign(config.Config{Sections: given(config.Role{Scope: "stays"})}); err != nil {
			s.Fatal(err)
		}
		r.awaitWithdrawn(s.Context())
		if !slices.Equal(s.gone, []string{"goes"}) {
			s.Errorf("withdrawn from %v, want goes", s.gone)
		}
		r.awaitWithdrawn(s.Context())
		if len(s.gone) != 1 {
			s.Errorf("withdrawn from %v after a second wait, want goes once", s.gone)
		}
		s.ends(r)
	})
}

// A role that a reload adds shares the session of roles with equal settings. If its lease is
// shorter than the session's, it gets another session.
func TestARoleThatComesJoinsAGroup(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		r := s.electors("n1")
		s.assign(r, config.Role{Scope: "a"})
		s.assign(r, config.Role{Scope: "a"}, config.Role{Scope: "b"}, config.Role{Scope: "c", Lease: time.Minute})
		if s.groups != 1 {
			s.Errorf("%d groups for one set of settings, want 1", s.groups)
		}
		s.assign(r, config.Role{Scope: "a"}, config.Role{Scope: "b"}, config.Role{Scope: "c", Lease: time.Minute}, config.Role{Scope: "d", Lease: time.Second})
		if s.groups != 2 {
			s.Errorf("%d groups after a role with a shorter lease than the session's, want 2", s.groups)
		}
		for _, scope := range []string{"a", "b", "c", "d"} {
			s.wants(scope, "n1")
		}
		s.ends(r)
	})
}

// slowly is a mint whose answers to bids are late.
type slowly struct {
	mint.Mint
	by time.Duration
}

func (m slowly) Open(ctx context.Context, c mint.Candidate) (mint.Session, error) {
	s, err := m.Mint.Open(ctx, c)
	return slowSession{s, m.by}, err
}

type slowSession struct {
	mint.Session
	by time.Duration
}

func (s slowSession) Try(ctx context.Context, bids []mint.Bid) ([]mint.Result, error) {
	r, err := s.Session.Try(ctx, bids)
	<-time.NewTimer(s.by).C
	return r, err
}

// A bid that wins after its role was removed: the scope is given up, and another node gets it.
func TestABidThatWinsTooLateIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		quick := s.mint
		s.mint = slowly{quick, time.Second}
		one := s.electors("n1")
		if err := one.assign(config.Config{Sections: given(config.Role{Scope: "stays"}, config.Role{Scope: "goes"})}); err != nil {
			s.Fatal(err)
		}
		pass(500 * time.Millisecond)
		s.assign(one, config.Role{Scope: "stays"})
		s.wants("stays", "n1")
		s.wants("goes")
		s.mint = quick
		two := s.electors("n2")
		s.assign(two, config.Role{Scope: "goes"})
		s.wants("goes", "n2")
		s.ends(one)
		s.ends(two)
	})
}
