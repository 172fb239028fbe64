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

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// session is the lock session: dedicated, never pooled (S1). One call at a time.
type session struct {
	pg      *pg.Session
	mint    *Mint
	who     election.Candidate
	process int64
	locked  map[string]bool // the scopes whose session lock is held
	unsure  bool            // locked may be wrong: ask the server first
	seen    time.Time       // when conch.process last heard of this session
}

// seenEvery is how often a live session refreshes its line in conch.process.
const seenEvery = 30 * time.Second

// touch keeps the candidate registered.
func (s *session) touch(ctx context.Context) error {
	if time.Since(s.seen) < seenEvery {
		return nil
	}
	s.seen = time.Now()
	_, err := s.pg.Conn().Exec(ctx, `UPDATE conch.process SET last_seen = clock_timestamp() WHERE process_key = $1`, s.process)
	return err
}

func (s *session) Process() int64 { return s.process }

// Caution warns of a pooler in session mode.
func (s *session) Caution() error { return s.pg.Caution() }

// failure sorts an error: the connection is gone, or the session lives on.
func (s *session) failure(what string, err error) error {
	if s.pg.Lost() {
		return fmt.Errorf("%s: %w: %w", what, election.ErrSessionLost, err)
	}
	s.unsure = true
	return fmt.Errorf("%s: %w", what, err)
}

// ask runs one statement whose commit counts: with synchronous replication a
// commit whose wait was cancelled warns, and is on this server only.
func ask[T any](ctx context.Context, conn *pg.Session, scan pgx.RowToFunc[T], sql string, args ...any) (found []T, err error) {
	warning, err := conn.Watch(func(c *pgx.Conn) error {
		rows, err := c.Query(ctx, sql, args...)
		if err == nil {
			found, err = pgx.CollectRows(rows, scan)
		}
		return err
	})
	if err == nil && warning != nil {
		err = fmt.Errorf("committed with a warning, so perhaps on this server only: %s", warning.Message)
	}
	return found, err
}

// Try bids for all scopes in one statement, conch.bid.
func (s *session) Try(ctx context.Context, bids []election.Bid) ([]election.Result, error) {
	if err := s.resync(ctx); err != nil {
		return nil, err
	}
	if err := s.touch(ctx); err != nil {
		return nil, s.failure("stay registered", err)
	}
	order := slices.Clone(bids)
	slices.SortFunc(order, func(a, b election.Bid) int { return cmp.Compare(a.Scope, b.Scope) }) // rows in scope order
	scopes := make([]string, len(order))
	keys := make([]int64, len(order))
	leases := make([]int32, len(order))
	locked := make([]bool, len(order))
	for i, b := range order {
		scopes[i], keys[i] = b.Scope, s.mint.cfg.lockKey(b.Scope)
		leases[i], locked[i] = int32(b.Lease.Milliseconds()), s.locked[b.Scope]
	}
	var block int64
	var evict bool
	if len(bids) == 1 {
		block, evict = bids[0].Block.Milliseconds(), bids[0].Evict
	}
	results, err := ask(ctx, s.pg, scanResult, `SELECT * FROM conch.bid($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.who.ID, s.process, string(s.who.Takeover), scopes, keys, leases, locked, block, evict)
	if err != nil {
		return nil, s.failure("bid", err)
	}
	found := make(map[string]election.Result, len(bids))
	for _, r := range results {
		found[r.Scope] = r
		switch r.Outcome {
		case election.Won, election.Busy:
			s.locked[r.Scope] = true
		default:
			delete(s.locked, r.Scope)
		}
	}
	out := make([]election.Result, len(bids))
	for i, b := range bids {
		r, ok := found[b.Scope]
		if !ok {
			return nil, s.failure("bid", fmt.Errorf("no answer for scope %q", b.Scope))
		}
		out[i] = r
	}
	return out, nil
}

var outcomes = map[string]election.Outcome{
	"won": election.Won, "held": election.Held, "busy": election.Busy,
	"yield": election.Yield, "refused": election.Refused,
}

func scanResult(row pgx.CollectableRow) (election.Result, error) {
	var (
		r        election.Result
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
	r.Hold, r.Age = time.Duration(hold)*time.Millisecond, time.Duration(age)*time.Millisecond
	if r.Outcome == election.Won {
		r.Token = fence.Token{
			Scope: r.Scope, Holder: r.Holder, Epoch: epoch, Term: term, System: system, Timeline: uint32(timeline),
		}
	}
	if why != "" {
		r.Why = errors.New(why)
	}
	if len(evicted) > 0 {
		err = json.Unmarshal(evicted, &r.Evicted)
	}
	return r, err
}

// Beat renews all terms in one statement.
func (s *session) Beat(ctx context.Context, pulses []election.Pulse) ([]bool, error) {
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

// Release marks and notifies in one transaction and unlocks after it: a
// successor that is woken by the notification may be a moment early, never the
// lock early.
func (s *session) Release(ctx context.Context, farewells []election.Farewell) ([]bool, error) {
	n := len(farewells)
	scopes, terms, released := make([]string, n), make([][16]byte, n), make([]bool, n)
	reasons, actors, tos := make([]string, n), make([]string, n), make([]string, n)
	for i, f := range farewells {
		scopes[i], terms[i], released[i] = f.Token.Scope, f.Token.Term, f.Released
		reasons[i], actors[i], tos[i] = f.Reason, f.Actor, f.To
	}
	rows, err := s.pg.Conn().Query(ctx, `SELECT conch.part($1, $2, $3, $4, $5, $6)`, scopes, terms, released, reasons, actors, tos)
	var gone []string
	if err == nil {
		gone, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil {
		return nil, s.failure("release", err)
	}
	current := make([]bool, n)
	for i, scope := range scopes {
		current[i] = slices.Contains(gone, scope)
	}
	var keys []int64
	for _, scope := range scopes {
		if s.locked[scope] {
			keys = append(keys, s.mint.cfg.lockKey(scope))
		}
	}
	if len(keys) == 0 {
		return current, nil
	}
	if _, err := s.pg.Conn().Exec(ctx, `SELECT pg_advisory_unlock(k) FROM unnest($1::bigint[]) k`, keys); err != nil {
		return nil, s.failure("unlock", err)
	}
	for _, scope := range scopes {
		delete(s.locked, scope)
	}
	return current, nil
}

// resync asks the server which locks this session holds, after an error that
// left it unknown: a lock taken twice would stay held after one unlock.
func (s *session) resync(ctx context.Context) error {
	if !s.unsure {
		return nil
	}
	held, err := ask(ctx, s.pg, pgx.RowTo[string], `
		SELECT l.scope FROM conch.leadership l
		  JOIN pg_locks k ON k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.pid = pg_backend_pid()
		   AND (k.classid::bigint << 32) | k.objid::bigint = l.lock_key`)
	if err != nil {
		return s.failure("look up locks", err)
	}
	clear(s.locked)
	for _, scope := range held {
		s.locked[scope] = true
	}
	s.unsure = false
	return nil
}

// Close frees what the session holds before it ends: the server would notice the
// end of a connection only a moment later.
func (s *session) Close() error {
	if !s.pg.Lost() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = s.pg.Conn().Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	}
	return s.pg.Close(context.Background())
}
