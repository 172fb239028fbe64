package node

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
	withdraw withdrawal
	mu       sync.Mutex
	away     map[string]time.Time // until when; the zero time: for good
	process  int64                // of the session; 0: there was none yet
	listed   map[string]bool      // what that session is known to campaign for
}

// withdrawal takes a process off the lists of some of its scopes.
type withdrawal func(ctx context.Context, process int64, scopes ...string) error

func newBallot(mint election.Mint, withdraw withdrawal) *ballot {
	return &ballot{Mint: mint, withdraw: withdraw, away: map[string]time.Time{}}
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
	b.mu.Lock()
	c.Scopes = slices.DeleteFunc(slices.Clone(c.Scopes), b.retired)
	b.mu.Unlock()
	s, err := b.Mint.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	b.process, b.listed = s.Process(), map[string]bool{}
	for _, scope := range c.Scopes {
		b.listed[scope] = true
	}
	b.mu.Unlock()
	if err := b.tell(ctx); err != nil { // of what was retired while the session was opened
		_ = s.Close()
		return nil, err
	}
	return &voter{Session: s, ballot: b}, nil
}

// retired tells whether a scope is off for good; with the lock held.
func (b *ballot) retired(scope string) bool {
	until, off := b.away[scope]
	return off && until.IsZero()
}

// tell withdraws in the database from what was retired, unless that was done.
func (b *ballot) tell(ctx context.Context) error {
	b.mu.Lock()
	process := b.process
	var gone []string
	for scope := range b.listed {
		if b.retired(scope) {
			gone = append(gone, scope)
		}
	}
	b.mu.Unlock()
	if len(gone) == 0 {
		return nil
	}
	if err := b.withdraw(ctx, process, gone...); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, scope := range gone {
		if b.process == process {
			delete(b.listed, scope)
		}
	}
	return nil
}

// telling is tell until it has succeeded or ctx ends: whoever asks for candidates
// meanwhile is told of one that is none.
func (b *ballot) telling(ctx context.Context) {
	for b.tell(ctx) != nil && ctx.Err() == nil {
		timer := time.NewTimer(tellAgain)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

const tellAgain = time.Second

type voter struct {
	election.Session
	ballot *ballot
}

// Caution passes on what the session has to say of the way that it was reached: what
// is embedded is an interface, which does not have the method.
func (v *voter) Caution() error {
	if cautious, ok := v.Session.(interface{ Caution() error }); ok {
		return cautious.Caution()
	}
	return nil
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
	if len(results) < len(real) {
		out = out[:at[len(results)]] // the mint had no room for more
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
