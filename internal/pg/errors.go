package pg

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// ConfigError means that the configuration cannot be used. It never contains the password.
type ConfigError struct {
	Reason string
	Err    error
}

func (e *ConfigError) Error() string { return "the database configuration is unusable: " + e.Reason }

func (e *ConfigError) Unwrap() error { return e.Err }

// MinMajor is the oldest major version of the server with which a session can be a lease.
const MinMajor = 14

// VersionError means that the server is too old to free the lock of a silent holder.
type VersionError struct{ Server string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("the server runs PostgreSQL %s, and conch needs %d or later: older ones lack idle_session_timeout and "+
		"client_connection_check_interval, without which a silent leader would keep its lock; upgrade the server", e.Server, MinMajor)
}

// StandbyError means that the server is in recovery and takes no writes.
type StandbyError struct{ Target string }

func (e *StandbyError) Error() string {
	return fmt.Sprintf("%s is a standby and takes no writes: name the primary, or add target_session_attrs=read-write to the URL", e.Target)
}

// The modes of a pooler that are refused.
const (
	PoolTransaction = "transaction" // a client may get another backend after each transaction
	PoolStatement   = "statement"   // a client may get another backend after each statement
	PoolUnknown     = "unknown"     // the probe got no answer
)

// PoolerError means that a pooler shares one backend between clients, so that two of
// them could both get the same lock.
type PoolerError struct {
	Mode   string
	Name   string // PgBouncer and its version, or empty
	Target string
	Err    error // why the mode is unknown
}

func (e *PoolerError) Error() string {
	name := cmp.Or(e.Name, "a connection pooler")
	if e.Mode == PoolUnknown {
		return fmt.Sprintf("%s is reached through %s, and whether it shares backends could not be found out, since a second connection "+
			"got no answer (%s): connect to PostgreSQL directly, or give the pool in session mode more connections", e.Target, name, Sentence(e.Err))
	}
	return fmt.Sprintf("%s is reached through %s in %s mode, behind which two processes can hold one lock: "+
		"connect to PostgreSQL directly, or through a pool in session mode", e.Target, name, e.Mode)
}

func (e *PoolerError) Unwrap() error { return e.Err }

// PooledError is the warning about a pooler in session mode, which is allowed.
type PooledError struct{ Target string }

func (e *PooledError) Error() string {
	return e.Target + " is reached through a connection pooler in session mode: its limits and its restarts end leaderships, " +
		"a session takes one of its connections for good, and server_reset_query must stay DISCARD ALL, " +
		"or a process that dies leaves its locks to the pool; a direct connection has none of this"
}

// SilenceError means that the server ended a session because this process sent nothing on
// it for a lease: it was stopped or starved, or its machine slept. The database is healthy.
type SilenceError struct{ Err *pgconn.PgError }

func (e *SilenceError) Error() string {
	return "this process was silent for longer than its lease and lost its session"
}

func (e *SilenceError) Unwrap() error { return e.Err }

// Silent returns true. Packages that do not import this one recognise the error by it.
func (e *SilenceError) Silent() bool { return true }

// Silenced returns a *SilenceError for the error with which the server ends a silent
// session, and other errors unchanged.
func Silenced(err error) error {
	sent, ok := errors.AsType[*pgconn.PgError](err)
	if ok && (sent.Code == codeIdleSession || sent.Code == codeIdleInTransaction) {
		return &SilenceError{Err: sent}
	}
	return err
}

// OwnerError means that the user may not change the schema, as only its owner may.
type OwnerError struct{ Err *pgconn.PgError }

func (e *OwnerError) Error() string {
	return fmt.Sprintf("the database user lacks a privilege (%s): connect as the owner of the schema conch, or to make it as a role with CREATE on the database",
		e.Err.Message)
}

func (e *OwnerError) Unwrap() error { return e.Err }

// ForOwners returns an *OwnerError for a privilege that was missing while the schema was
// changed, and other errors unchanged.
func ForOwners(err error) error {
	if sent, is := errors.AsType[*pgconn.PgError](err); is && sent.Code == codeNoPrivilege && !hidesRows(sent) {
		return &OwnerError{Err: sent}
	}
	return err
}
