package pgmint

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/conchhq/conch/election/mint"
)

// Locks is how a session holds the scopes that it wins. Candidates of both kinds may compete for
// one scope, with the same guarantees.
type Locks string

const (
	// SessionLocks takes one advisory lock per scope, and its heartbeats name each term. Advancing
	// the epoch of a scope ends only the term of that scope. It is the default.
	SessionLocks Locks = "session"
	// ProcessLocks takes one lock for the process, and its heartbeats renew one row for all terms:
	// for thousands of scopes. Advancing the epoch of one scope ends all terms of the process.
	ProcessLocks Locks = "process"
)

// lockBudgetError refuses a candidate that needs more advisory locks than its budget: a full lock
// table keeps even new connections out of the whole server.
type lockBudgetError struct {
	Scopes int
	Need   int // locks: one per scope, one for the process, one for a fence
	Used   int // by other sessions of this process
	Budget int
	Table  int // places in the server's lock table
}

func (e *lockBudgetError) Error() string {
	used := ""
	if e.Used > 0 {
		used = fmt.Sprintf(" of which %d are in use by other sessions of this process,", e.Used)
	}
	return fmt.Sprintf("%d scopes need %d advisory locks at once, and the lock budget is %d,%s of the %d places in the server's lock table: "+
		`raise the lock budget and the server's max_locks_per_transaction, or use locks of kind "process", which take one for all scopes`,
		e.Scopes, e.Need, e.Budget, used, e.Table)
}

// Unwrap returns mint.ErrBarred, since trying again does not help.
func (*lockBudgetError) Unwrap() error { return mint.ErrBarred }

// reserve counts the locks of a new session against the budget, until unreserve.
func (m *Mint) reserve(scopes, table int) (locks int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if locks, err = m.reserveLocks(scopes, table); err == nil {
		m.sessions++
	}
	return locks, err
}

// reserveMore is reserve for scopes that a session adds.
func (m *Mint) reserveMore(s *session, scopes int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved -= s.reserved
	locks, err := m.reserveLocks(len(s.who.Scopes)+scopes, s.table)
	if err != nil {
		m.reserved += s.reserved
		return err
	}
	s.reserved = locks
	return nil
}

// reserveLocks reserves the locks of one session. The caller holds m.mu.
func (m *Mint) reserveLocks(scopes, table int) (locks int, err error) {
	budget := cmp.Or(m.cfg.LockBudget, table/4)
	locks = 1 // the process key
	if m.cfg.locks() == SessionLocks {
		locks += scopes
	}
	if m.cfg.locks() == SessionLocks && m.reserved+locks+1 > budget {
		return 0, &lockBudgetError{Scopes: scopes, Need: locks + 1, Used: m.reserved, Budget: budget, Table: table}
	}
	m.budget = budget
	m.reserved += locks
	return locks, nil
}

func (m *Mint) unreserve(locks int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reserved -= locks
	m.sessions--
}

// bidsAtOnce limits the bids of one statement, so that no heartbeat waits long behind it.
const bidsAtOnce = 500

// room returns how many fences one session may hold in one statement.
func (m *Mint) room() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return min(max((m.budget-m.reserved)/max(m.sessions, 1), 1), bidsAtOnce)
}

func (c Config) locks() Locks { return cmp.Or(c.Locks, SessionLocks) }

// validateLocks checks Locks and LockBudget.
func (c Config) validateLocks() error {
	switch {
	case c.locks() != SessionLocks && c.locks() != ProcessLocks:
		return fmt.Errorf("locks %q is none of session, process", c.Locks)
	case c.LockBudget < 0:
		return fmt.Errorf("a lock budget of %d is below 0", c.LockBudget)
	}
	return nil
}

// EnvLocks and EnvLockBudget are where ConfigFromEnv reads Locks and LockBudget.
const (
	EnvLocks      = "CONCH_LOCKS"
	EnvLockBudget = "CONCH_LOCK_BUDGET"
)

// lockEnv reads EnvLocks and EnvLockBudget.
func (c Config) lockEnv(getenv func(string) string) (Config, error) {
	c.Locks = Locks(getenv(EnvLocks))
	if err := c.validateLocks(); err != nil {
		return c, fmt.Errorf("%s: %w", EnvLocks, err)
	}
	if text := getenv(EnvLockBudget); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return c, fmt.Errorf("%s=%q is not a whole number; 0 is the default, a quarter of the server's lock table", EnvLockBudget, text)
		}
		c.LockBudget = n
	}
	return c, nil
}
