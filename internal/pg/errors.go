package pg

import "fmt"

// ConfigError is a configuration that can not be used. Its text never holds the
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
	PoolUnknown     = "unknown"     // it could not be found out: in doubt refused
)

// PoolerError is a pooler that shares one backend between clients, so that two
// of them would both be told they hold one lock.
type PoolerError struct {
	Mode   string
	Target string
	Err    error // why the mode is unknown
}

func (e *PoolerError) Error() string {
	if e.Mode == PoolUnknown {
		return fmt.Sprintf("%s is a connection pooler, and whether it shares backends could not be found out, since a second connection "+
			"got no answer (%v): connect to PostgreSQL directly, or give the pool in session mode more connections", e.Target, e.Err)
	}
	return fmt.Sprintf("%s is a connection pooler in %s mode, behind which two processes can hold one lock: "+
		"connect to PostgreSQL directly, or through a pool in session mode", e.Target, e.Mode)
}

func (e *PoolerError) Unwrap() error { return e.Err }
