package pg

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// ConfigError is a configuration that cannot be used. Its text never holds the
// password.
type ConfigError struct {
	Reason string
	Err    error
}

func (e *ConfigError) Error() string { return "the database configuration is unusable: " + e.Reason }

func (e *ConfigError) Unwrap() error { return e.Err }

// MinMajor is the oldest server whose sessions can be leases.
const MinMajor = 14

// VersionError is a server that is too old to free the lock of a silent holder.
type VersionError struct{ Server string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the server runs PostgreSQL %s, and conch needs %d or later: older ones lack idle_session_timeout and "+
		"client_connection_check_interval, without which a silent leader would keep its lock; upgrade the server", e.Server, MinMajor)
}

// StandbyError is a server in recovery: it can neither lock for others nor write.
type StandbyError struct{ Target string }

func (e *StandbyError) Error() string {
	return fmt.Sprintf("%s is a standby and takes no writes: name the primary, or add target_session_attrs=read-write to the URL", e.Target)
}

// The modes of a pooler that are refused.
const (
	PoolTransaction = "transaction" // one backend serves many clients
	PoolStatement   = "statement"   // and each may change it after every statement
	PoolUnknown     = "unknown"     // it could not be found out: in doubt refused
)

// PoolerError is a pooler that shares one backend between clients, so that two
// of them would both be told they hold one lock.
type PoolerError struct {
	Mode   string
	Name   string // PgBouncer and its version, or empty
	Target string
	Err    error // why the mode is unknown
}

func (e *PoolerError) Error() string {
	name := e.Name
	if name == "" {
		name = "a connection pooler"
	}
	if e.Mode == PoolUnknown {
		return fmt.Sprintf("%s is reached through %s, and whether it shares backends could not be found out, since a second connection "+
			"got no answer (%v): connect to PostgreSQL directly, or give the pool in session mode more connections", e.Target, name, e.Err)
	}
	return fmt.Sprintf("%s is reached through %s in %s mode, behind which two processes can hold one lock: "+
		"connect to PostgreSQL directly, or through a pool in session mode", e.Target, name, e.Mode)
}

func (e *PoolerError) Unwrap() error { return e.Err }

// PooledError is the warning about a pooler in session mode: it is allowed, and
// stands between conch and the server that keeps its locks.
type PooledError struct{ Target string }

func (e *PooledError) Error() string {
	return e.Target + " is reached through a connection pooler in session mode: its limits and its restarts end leaderships, " +
		"a session takes one of its connections for good, and server_reset_query must stay DISCARD ALL, " +
		"or a process that dies leaves its locks to the pool; a direct connection has none of this"
}

// SilenceError says that the server ended a session because this process had not spoken on
// it for a lease: it was stopped, starved, or its machine slept. The database is well.
type SilenceError struct{ Err *pgconn.PgError }

func (e *SilenceError) Error() string {
	return "this process was silent for longer than its lease and lost its session"
}

func (e *SilenceError) Unwrap() error { return e.Err }

// Silent says so to those who do not know this package.
func (e *SilenceError) Silent() bool { return true }

// Silenced makes a *SilenceError of what the server said last in such a session; other
// errors pass unchanged.
func Silenced(err error) error {
	sent, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (sent.Code == codeIdleSession || sent.Code == codeIdleInTransaction) {
		return &SilenceError{Err: sent}
	}
	return err
}

// OwnerError is a right to change the schema, which deploy/grants.sql gives to nobody.
type OwnerError struct{ Err *pgconn.PgError }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("the database user lacks a privilege (%s): connect as the owner of the schema conch, or to make it as a role with CREATE on the database",
		e.Err.Message)
}

func (e *OwnerError) Unwrap() error { return e.Err }

// ForOwners makes an *OwnerError of a right that was missing to whoever would change the
// schema; other errors pass unchanged.
func ForOwners(err error) error {
	var sent *pgconn.PgError
	if errors.As(err, &sent) && sent.Code == codeNoPrivilege {
		return &OwnerError{Err: sent}
	}
	return err
}
