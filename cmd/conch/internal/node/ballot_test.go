package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
)

// The database is told what a reload took away, again until it has understood.
func TestARemovedRoleIsWithdrawn(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		r := s.roster("n1")
		s.assign(r, config.Role{Scope: "stays"}, config.Role{Scope: "goes"})
		s.deaf = 2
		s.assign(r, config.Role{Scope: "stays"})
		r.announce(s.Context())
		if !slices.Equal(s.gone, []string{"goes"}) {
			s.Errorf("withdrawn: %v", s.gone)
		}
		r.announce(s.Context())
		if len(s.gone) != 1 {
			s.Errorf("withdrawn again: %v", s.gone)
		}
		s.ends(r)
	})
}

// wary is a mint whose sessions have something to say.
type wary struct{ election.Mint }

func (m wary) Open(ctx context.Context, c election.Candidate) (election.Session, error) {
	s, err := m.Mint.Open(ctx, c)
	return warySession{s}, err
}

type warySession struct{ election.Session }

var errWary = errors.New("a pooler is in between")

func (warySession) Caution() error { return errWary }

// What a session warns of is told of by a node as by everybody else.
func TestACautionIsPassedOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		var told []error
		for _, mint := range []election.Mint{wary{s.mint}, s.mint} {
			e, err := election.New(election.Config{
				ID: "n1", Mint: newBallot(mint, s.withdraw), Clock: s.clock, Logger: slog.New(slog.DiscardHandler),
				Roles: []election.Role{{Scope: "s"}},
				Events: election.Events{Fact: func(f election.Fact) {
					if f.Kind == election.Cautioned {
						told = append(told, f.Err)
					}
				}},
			})
			if err != nil {
				s.Fatal(err)
			}
			ctx, cancel := context.WithCancel(s.Context())
			ended := make(chan error, 1)
			go func() { ended <- e.Run(ctx) }()
			pass(time.Second)
			cancel()
			if err := <-ended; err != nil {
				s.Error(err)
			}
		}
		if len(told) != 1 || !errors.Is(told[0], errWary) {
			s.Errorf("told %v", told)
		}
	})
}

// slowly is a mint whose answers to bids take their time.
type slowly struct {
	election.Mint
	by time.Duration
}

func (m slowly) Open(ctx context.Context, c election.Candidate) (election.Session, error) {
	s, err := m.Mint.Open(ctx, c)
	return slowSession{s, m.by}, err
}

type slowSession struct {
	election.Session
	by time.Duration
}

func (s slowSession) Try(ctx context.Context, bids []election.Bid) ([]election.Result, error) {
	r, err := s.Session.Try(ctx, bids)
	<-time.NewTimer(s.by).C
	return r, err
}

// A bid that was on its way when its role was removed wins a scope that nobody is
// to work on: it is given up, and others get it.
func TestABidThatWinsTooLateIsGivenUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		quick := s.mint
		s.mint = slowly{quick, time.Second}
		one := s.roster("n1")
		if err := one.assign(config.Config{Sections: given(config.Role{Scope: "stays"}, config.Role{Scope: "goes"})}); err != nil {
			s.Fatal(err)
		}
		pass(500 * time.Millisecond)
		s.assign(one, config.Role{Scope: "stays"})
		s.wants("stays", "n1")
		s.wants("goes")
		s.mint = quick
		two := s.roster("n2")
		s.assign(two, config.Role{Scope: "goes"})
		s.wants("goes", "n2")
		s.ends(one)
		s.ends(two)
	})
}

// What is retired while a session is being opened is registered with it, and taken
// off the lists before anybody uses it.
func TestRetiredWhileOpening(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		b := newBallot(nil, s.withdraw)
		b.Mint = opening{s.mint, func() { b.retire("goes") }}
		session, err := b.Open(s.Context(), election.Candidate{ID: "n1", Lease: time.Second, Takeover: election.Strict, Scopes: []string{"goes", "stays"}})
		if err != nil || !slices.Equal(s.gone, []string{"goes"}) {
			s.Errorf("withdrawn: %v, %v", s.gone, err)
		}
		_ = session.Close()
	})
}

// opening is a mint while whose session is opened something happens.
type opening struct {
	election.Mint
	meanwhile func()
}

func (m opening) Open(ctx context.Context, c election.Candidate) (election.Session, error) {
	m.meanwhile()
	return m.Mint.Open(ctx, c)
}
