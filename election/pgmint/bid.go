package pgmint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// codeLockTableFull is out_of_memory, which Postgres returns if its lock table is full.
const codeLockTableFull = "53200"

// Try makes the first of the bids, as many as the lock budget has room for, in one statement,
// conch.bid. If the server's lock table is full, it makes fewer. After an error it keeps no lock of
// these scopes, so that others can win while this candidate waits.
func (s *session) Try(ctx context.Context, bids []mint.Bid) ([]mint.Result, error) {
	if err := s.resync(ctx); err != nil {
		return nil, err
	}
	if err := s.touch(ctx); err != nil {
		return nil, s.failure("stay registered", err)
	}
	for _, b := range bids {
		s.keys[b.Scope] = s.mint.cfg.lockKey(b.Scope)
	}
	n := min(len(bids), s.mint.room(), s.atOnce)
	for {
		results, err := s.bid(ctx, bids[:n])
		if err == nil {
			s.atOnce = min(max(s.atOnce, 2*n), bidsAtOnce)
			return results, nil
		}
		failed := s.failure("bid", err)
		if !errors.Is(failed, mint.ErrSessionLost) { // a lost session holds no lock
			if err := s.unlockFailed(ctx, bids[:n]); err != nil {
				return nil, errors.Join(failed, err)
			}
		}
		if pg.Code(err) != codeLockTableFull {
			return nil, failed
		}
		if n == 1 {
			return []mint.Result{{Scope: bids[0].Scope, Outcome: mint.Full, Why: errors.New(
				"the server's lock table is full: raise max_locks_per_transaction and restart the server")}}, nil
		}
		n /= 2
		s.atOnce = n
	}
}

func (s *session) bid(ctx context.Context, bids []mint.Bid) ([]mint.Result, error) {
	order := slices.Clone(bids)
	slices.SortFunc(order, func(a, b mint.Bid) int { return cmp.Compare(a.Scope, b.Scope) }) // rows are locked in scope order
	scopes := make([]string, len(order))
	keys := make([]int64, len(order))
	leases := make([]int32, len(order))
	locked := make([]bool, len(order))
	explain := []string{}
	for i, b := range order {
		scopes[i], keys[i] = b.Scope, s.keys[b.Scope]
		leases[i], locked[i] = int32(b.Lease.Milliseconds()), s.locked[b.Scope]
		if b.Explain {
			explain = append(explain, b.Scope)
		}
		// From here on the row may have a term that this session does not know.
		delete(s.minted, b.Scope)
	}
	var block int64
	var evict bool
	if len(bids) == 1 {
		block, evict = bids[0].Block.Milliseconds(), bids[0].Evict
	}
	results, err := pg.QueryConfirmed(ctx, s.pg, scanResult, bidSQL,
		s.who.ID, s.process, string(s.who.Takeover), s.bySession(), scopes, keys, leases, locked, block, evict, explain)
	if err != nil {
		return nil, err
	}
	if len(results) == 0 {
		return nil, errNoStandby
	}
	found := make(map[string]mint.Result, len(bids))
	for _, r := range results {
		found[r.Scope] = r
		s.locked[r.Scope] = s.bySession() && (r.Outcome == mint.Won || r.Outcome == mint.Busy)
		if r.Outcome == mint.Won {
			s.minted[r.Scope] = r.Token.Term
		}
	}
	out := make([]mint.Result, len(bids))
	for i, b := range bids {
		r, ok := found[b.Scope]
		if !ok {
			return nil, fmt.Errorf("no answer for scope %q", b.Scope)
		}
		out[i] = r
	}
	return out, nil
}

const bidSQL = `SELECT * FROM conch.bid($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

var errNoStandby = errors.New("no standby is connected that could confirm a term, and synchronous_standby_names asks for one: bring it back, or correct the setting")

var outcomes = map[string]mint.Outcome{
	"won": mint.Won, "held": mint.Held, "busy": mint.Busy,
	"yield": mint.Yield, "refused": mint.Refused, "locked": mint.Locked,
}

func scanResult(row pgx.CollectableRow) (mint.Result, error) {
	var (
		r        mint.Result
		outcome  string
		why      string
		term     [16]byte
		epoch    int64
		hold     int32
		system   int64
		timeline int64
		evicted  []byte
		age      int64
	)
	err := row.Scan(&r.Scope, &outcome, &epoch, &term, &hold, &r.Handoff, &r.Holder, &r.Process, &system, &timeline, &why, &evicted, &age)
	if err != nil {
		return r, err
	}
	var known bool
	if r.Outcome, known = outcomes[outcome]; !known {
		return r, fmt.Errorf("conch.bid answered %q: the schema is newer than this program", outcome)
	}
	r.Term = term
	r.Hold, r.Age = time.Duration(hold)*time.Millisecond, time.Duration(age)*time.Millisecond
	if r.Outcome == mint.Won {
		r.Token = fence.Token{
			Scope: r.Scope, Holder: r.Holder, Epoch: epoch, Term: term, System: system, Timeline: uint32(timeline),
		}
	}
	if why != "" {
		r.Why = errors.New(why)
	}
	if len(evicted) > 0 {
		err = json.Unmarshal(evicted, &r.Blockers)
	}
	return r, err
}
