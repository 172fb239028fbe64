package assemble

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
)

// ballot is a mint that an elector bids at for some of its scopes only: an
// elector's roles are fixed, those of a node are not. A scope that is away is not
// bid for and looks held to the elector; a term under way goes on.
type ballot struct {
	election.Mint
	mu   sync.Mutex
	away map[string]time.Time // until when; the zero time: for good
}

func newBallot(mint election.Mint) *ballot {
	return &ballot{Mint: mint, away: map[string]time.Time{}}
}

// retire takes a scope off for good.
func (b *ballot) retire(scope string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away[scope] = time.Time{}
}

// rest takes a scope off for a while.
func (b *ballot) rest(scope string, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until, off := b.away[scope]; !off || !until.IsZero() {
		b.away[scope] = time.Now().Add(d)
	}
}

func (b *ballot) isAway(scope string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, off := b.away[scope]
	if off && !until.IsZero() && time.Now().After(until) {
		delete(b.away, scope)
		return false
	}
	return off
}

// Open registers the candidate for what it really wants.
func (b *ballot) Open(ctx context.Context, c election.Candidate) (election.Session, error) {
	c.Scopes = slices.DeleteFunc(slices.Clone(c.Scopes), func(scope string) bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		until, off := b.away[scope]
		return off && until.IsZero()
	})
	s, err := b.Mint.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return &voter{Session: s, ballot: b}, nil
}

type voter struct {
	election.Session
	ballot *ballot
}

// Try bids for the scopes that are not away.
func (v *voter) Try(ctx context.Context, bids []election.Bid) ([]election.Result, error) {
	out := make([]election.Result, len(bids))
	var real []election.Bid
	var at []int
	for i, b := range bids {
		if v.ballot.isAway(b.Scope) {
			out[i] = election.Result{Scope: b.Scope, Outcome: election.Yield}
			continue
		}
		real, at = append(real, b), append(at, i)
	}
	if len(real) == 0 {
		// The elector takes the session for used now; the mint must see that too.
		_, err := v.Beat(ctx, nil)
		return out, err
	}
	results, err := v.Session.Try(ctx, real)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		out[at[i]] = r
	}
	return out, nil
}

// cast is what was really bid of what the elector believes to have bid.
func (b *ballot) cast(in election.Bidding) election.Bidding {
	out := in
	out.Scopes, out.Results = nil, nil
	for i, scope := range in.Scopes {
		if b.isAway(scope) {
			continue
		}
		out.Scopes = append(out.Scopes, scope)
		if in.Err == nil {
			out.Results = append(out.Results, in.Results[i])
		}
	}
	return out
}
