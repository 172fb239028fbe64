package pgmint

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/conchhq/conch/internal/pg"
)

// Config names the database of a mint, and how its sessions lock.
type Config struct {
	// URL is postgres://user:password@host:port/database?… or a keyword/value string. If it is
	// empty, the standard PG* environment variables apply.
	URL         string
	TLSInsecure bool   // encrypt without verifying the server (S28)
	TLSCAFile   string // verify the server against this file instead of the system's roots
	AppName     string // shown in pg_stat_activity; default "conch"
	// ListenChannel is the channel of notifications of changes; default "conch_leader_change". All
	// candidates of a scope must use the same one. Their payload is scope:holder:epoch; the holder is
	// empty if the scope was given up. Parse it from the right, since a scope may contain ':'.
	ListenChannel string
	// LockKeys overrides the advisory lock keys of scopes (S2, S27), for example if another program
	// uses the key that conch.lock_key returns. All candidates of a scope must use the same one: until
	// the scope is released, the mint refuses any other.
	LockKeys map[string]int64
	// Locks is how sessions hold the scopes that they win; default SessionLocks.
	Locks Locks
	// LockBudget is how many advisory locks the sessions of one Mint may hold together; 0 means a
	// quarter of the server's lock table. Open refuses a candidate that needs more. With
	// ProcessLocks the budget only limits how many scopes one statement bids for.
	LockBudget int
	// About is asked, now and then, what operators are shown of the process; may be nil. It must not wait.
	About func() About
}

// About is what a process says of itself in conch.process, for people. Nothing depends on it.
type About struct {
	Version   string // of its program
	Address   string // where it serves
	Settings  string // a hash of what its configuration should have in common with that of others
	LinesLost int64  // of its log, at least
}

// ConfigFromEnv reads CONCH_DB_URL, CONCH_DB_TLS_INSECURE, CONCH_DB_TLS_CA_FILE,
// CONCH_LISTEN_CHANNEL, CONCH_LOCKS and CONCH_LOCK_BUDGET. For a candidate, which passes its scopes,
// it also reads CONCH_LEADER_LOCK_KEY, which is an error with more than one scope (S27).
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
		return c, fmt.Errorf("CONCH_LEADER_LOCK_KEY is set, but there are %d scopes: one key for all would let only one of them lead", len(scopes))
	}
	c.LockKeys = map[string]int64{scopes[0]: key}
	return c, nil
}

// Connection returns the settings that all connections to this database share (S28), for packages
// of conch that open their own. The suffix follows AppName in pg_stat_activity.
func (c Config) Connection(suffix string) pg.Config {
	return pg.Config{URL: c.URL, TLSInsecure: c.TLSInsecure, TLSCAFile: c.TLSCAFile, AppName: cmp.Or(c.AppName, "conch") + suffix}
}

func (c Config) lockKey(scope string) int64 {
	if key, ok := c.LockKeys[scope]; ok {
		return key
	}
	return scopeKey(scope)
}

// Channel returns ListenChannel, or its default.
func (c Config) Channel() string { return cmp.Or(c.ListenChannel, "conch_leader_change") }
