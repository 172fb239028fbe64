package pgmint

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

// session is the lock session: a dedicated connection, never pooled (S1). One call at a time.
type session struct {
	pg       *pg.Session
	mint     *Mint
	who      mint.Candidate
	process  int64
	reserved int // locks reserved in the budget
	table    int // places in the server's lock table
	ended    sync.Once
	keys     map[string]int64      // the lock keys of the scopes that it has bid for
	locked   map[string]bool       // the scopes whose lock it holds
	unsure   bool                  // locked may be wrong: resync first
	minted   map[string]fence.Term // the terms that it has won and not given up; a heartbeat by process renews these
	owed     map[string]fence.Term // the terms that are still to be settled
	atOnce   int                   // the most bids in one statement
	about    About                 // what it has said of the process
	seen     time.Time             // when this session last refreshed its row in conch.process
}

func (s *session) bySession() bool { return s.mint.cfg.locks() == SessionLocks }

// seenEvery is how often a live session refreshes its row in conch.process.
const seenEvery = 30 * time.Second

// touch refreshes the candidate's row, so that conch.register does not delete it.
func (s *session) touch(ctx context.Context) error {
	if time.Since(s.seen) < seenEvery {
		return nil
	}
	s.seen = time.Now()
	_, err := s.pg.Conn().Exec(ctx, `SELECT conch.seen($1)`, s.process)
	if err == nil {
		s.introduce(ctx)
	}
	return err
}

func (s *session) Process() int64 { return s.process }

// Caution returns a *pg.PooledError behind a pooler in session mode, otherwise nil.
func (s *session) Caution() error { return s.pg.Caution() }

// failure wraps an error, with ErrSessionLost if the session cannot go on.
func (s *session) failure(what string, err error) error {
	if s.pg.Lost() || pg.Code(err) == codeBuried {
		return s.over(what, pg.Silenced(err))
	}
	s.unsure = true
	return fmt.Errorf("%s: %w", what, pg.LockedOn(context.Background(), s.pg.Conn(), err))
}

// codeBuried is what conch.bid raises for a process that was declared dead.
const codeBuried = "CN002"

// over wraps an error after which the session cannot go on, although its connection may stand.
func (s *session) over(what string, err error) error {
	return fmt.Errorf("%s: %w: %w", what, mint.ErrSessionLost, err)
}

// Release records, unlocks and notifies in one transaction: a candidate that the notification wakes
// finds the lock free, and one that finds it free before the commit reads a row that is held. It
// ignores a warning that no standby confirmed: after a failover a release does not count anyway.
func (s *session) Release(ctx context.Context, farewells []mint.Farewell) ([]mint.Parting, error) {
	rows, err := s.pg.Conn().Query(ctx, `SELECT * FROM conch.part($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`, s.partArgs(farewells)...)
	type answer struct {
		Place int64
		What  string
		By    string
	}
	var answers []answer
	if err == nil {
		answers, err = pgx.CollectRows(rows, pgx.RowToStructByPos[answer])
	}
	if err != nil {
		return nil, s.failure("farewell", err)
	}
	if len(answers) != len(farewells) {
		return nil, s.failure("farewell", fmt.Errorf("conch.part answered %d of %d farewells", len(answers), len(farewells)))
	}
	out := make([]mint.Parting, len(farewells))
	for _, a := range answers {
		f := farewells[a.Place-1]
		out[a.Place-1] = mint.Parting{Outcome: partings[a.What], By: a.By}
		if a.What != "locked" && !s.wonAgain(f.Token) {
			delete(s.locked, f.Token.Scope)
		}
	}
	return out, nil
}

var partings = map[string]mint.Outcome{"said": mint.Said, "over": mint.Over, "locked": mint.Locked}

// partArgs returns the arguments of conch.part.
func (s *session) partArgs(farewells []mint.Farewell) []any {
	n := len(farewells)
	scopes, terms, released, bare := make([]string, n), make([][16]byte, n), make([]bool, n), make([]bool, n)
	hows, reasons, actors, tos := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	keys := make([]*int64, n)
	for i, f := range farewells {
		scope := f.Token.Scope
		scopes[i], terms[i], released[i], bare[i], hows[i] = scope, f.Token.Term, f.Released, f.Bare, string(f.How)
		if !f.Bare {
			reasons[i], actors[i], tos[i] = s.text(f.Reason), s.text(f.Actor), s.text(f.To)
		}
		if s.locked[scope] && !s.wonAgain(f.Token) {
			keys[i] = new(s.keys[scope])
		}
		if s.minted[scope] == f.Token.Term {
			delete(s.minted, scope) // even if the statement fails, since it may have been carried out
		}
	}
	return []any{s.process, scopes, terms, released, bare, hows, reasons, actors, tos, keys}
}

// wonAgain reports whether the session has won the scope again since that term, and so keeps its lock.
func (s *session) wonAgain(t fence.Token) bool {
	term, led := s.minted[t.Scope]
	return led && term != t.Term
}

func (s *session) text(text string) string { return pg.Storable(s.pg.Conn().PgConn(), text) }

// resync asks the server which locks this session holds, if an error has left that unknown: a lock
// taken twice would stay held after one unlock.
func (s *session) resync(ctx context.Context) error {
	if !s.unsure || !s.bySession() {
		return nil
	}
	held, err := pg.QueryConfirmed(ctx, s.pg, pgx.RowTo[int64], `
		SELECT (k.classid::bigint << 32) | k.objid::bigint FROM pg_locks k
		 WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND k.granted AND k.pid = pg_backend_pid()`)
	if err != nil {
		return s.failure("look up locks", err)
	}
	holds := make(map[int64]bool, len(held))
	for _, key := range held {
		holds[key] = true
	}
	for scope, key := range s.keys {
		s.locked[scope] = holds[key]
	}
	s.unsure = false
	return nil
}

// unlockFailed frees the locks of scopes whose bids failed, old ones and those that the bids took:
// session locks outlive the transaction that took them.
func (s *session) unlockFailed(ctx context.Context, bids []mint.Bid) error {
	if err := s.resync(ctx); err != nil {
		return err
	}
	scopes := make([]string, len(bids))
	for i, b := range bids {
		scopes[i] = b.Scope
	}
	return s.unlock(ctx, scopes)
}

func (s *session) lockedKeys(scopes []string) []int64 {
	keys := []int64{}
	for _, scope := range scopes {
		if s.locked[scope] {
			keys = append(keys, s.keys[scope])
		}
	}
	return keys
}

func (s *session) unlock(ctx context.Context, scopes []string) error {
	keys := s.lockedKeys(scopes)
	if len(keys) == 0 {
		return nil
	}
	if _, err := s.pg.Conn().Exec(ctx, `SELECT pg_advisory_unlock(k) FROM unnest($1::bigint[]) k`, keys); err != nil {
		return s.failure("unlock", err)
	}
	for _, scope := range scopes {
		delete(s.locked, scope)
	}
	return nil
}

// Close frees the locks first, since the server notices the end of a connection a moment later.
func (s *session) Close() error {
	s.ended.Do(func() { s.mint.unreserve(s.reserved) })
	if !s.pg.Lost() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = s.pg.Conn().Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	}
	return s.pg.Close(context.Background())
}
