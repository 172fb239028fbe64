package pgmint

import (
	"fmt"
	"strconv"

	"github.com/conchhq/conch/internal/pg"
)

// Config says which database holds the leaderships.
type Config struct {
	// URL in the form postgres://user:password@host:port/database?…, or a
	// keyword/value string; empty means the standard PG* environment variables.
	URL         string
	TLSInsecure bool   // encrypt without verifying the server (S28)
	TLSCAFile   string // verify the server against this file instead of the system's roots
	AppName     string // shown in pg_stat_activity; default "conch"
	// ListenChannel is where changes are announced; default conch_leader_change.
	// All candidates of a scope must agree on it.
	ListenChannel string
	// LockKeys overrides the advisory lock keys of scopes (S2, S27), for instance
	// where another program already uses the key that LockKey gives. All candidates
	// of a scope must agree; one that does not is refused until the scope is released.
	LockKeys map[string]int64
	// Locks says how sessions keep what they win; default SessionLocks.
	Locks Locks
	// LockBudget is the most advisory locks that the sessions of one Mint may hold at
	// once. 0 means a quarter of the places in the server's lock table. A candidate
	// that needs more is refused with a LockBudgetError; under ProcessLocks the budget
	// only bounds how many scopes are bid for in one statement.
	LockBudget int
}

// DefaultChannel is where changes of leadership are announced, as
// scope:holder:epoch. The holder is empty when the scope was given up. A scope may
// contain ':', a holder does not: parse from the right.
const DefaultChannel = "conch_leader_change"

// ConfigFromEnv reads CONCH_DB_URL, CONCH_DB_TLS_INSECURE, CONCH_DB_TLS_CA_FILE,
// CONCH_LISTEN_CHANNEL, CONCH_LOCKS and CONCH_LOCK_BUDGET, and, for whoever campaigns, CONCH_LEADER_LOCK_KEY: a
// key fits one scope, so with several it is an error (S27).
func ConfigFromEnv(getenv func(string) string, scopes ...string) (Config, error) {
	base, err := pg.FromEnv(getenv)
	c := Config{
		URL: base.URL, TLSInsecure: base.TLSInsecure, TLSCAFile: base.TLSCAFile,
		ListenChannel: getenv("CONCH_LISTEN_CHANNEL"),
	}
	if err == nil {
		c, err = c.lockEnv(getenv)
	}
	text := getenv("CONCH_LEADER_LOCK_KEY")
	if err != nil || text == "" || len(scopes) == 0 {
		return c, err
	}
	key, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return c, fmt.Errorf("CONCH_LEADER_LOCK_KEY=%q is not a 64-bit number", text)
	case len(scopes) > 1:
		return c, fmt.Errorf("CONCH_LEADER_LOCK_KEY is set, but there are %d scopes: one key for all would let one of them lead only", len(scopes))
	}
	c.LockKeys = map[string]int64{scopes[0]: key}
	return c, nil
}

// Connection returns what all connections to this database have in common (S28), for the
// packages of conch that open their own. The suffix tells a program's connections apart in
// pg_stat_activity: it follows AppName.
func (c Config) Connection(suffix string) pg.Config {
	name := c.AppName
	if name == "" {
		name = "conch"
	}
	return pg.Config{URL: c.URL, TLSInsecure: c.TLSInsecure, TLSCAFile: c.TLSCAFile, AppName: name + suffix}
}

func (c Config) lockKey(scope string) int64 {
	if key, ok := c.LockKeys[scope]; ok {
		return key
	}
	return LockKey(scope)
}

// Channel returns ListenChannel, or its default.
func (c Config) Channel() string {
	if c.ListenChannel == "" {
		return DefaultChannel
	}
	return c.ListenChannel
}
