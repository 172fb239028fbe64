package pgmint

import (
	"fmt"
	"strings"
)

// BlockedError says that a command changed nothing, since other sessions hold a lock that it needs
// exclusively. It waits for them only briefly, because all later users of the lock wait behind it.
type BlockedError struct {
	What string // what is locked
	By   []LockHolder
}

// LockHolder is a session that holds a lock.
type LockHolder struct {
	PID int32  // process id of its backend; 0: a prepared transaction
	App string // application_name
}

func (e *BlockedError) Error() string {
	by := []string{}
	for _, b := range e.By {
		if b.PID == 0 {
			by = append(by, "a prepared transaction (see pg_prepared_xacts)")
			continue
		}
		by = append(by, fmt.Sprintf("pid %d (%s)", b.PID, b.App))
	}
	if len(by) == 0 {
		return fmt.Sprintf("%s was not free in time, and now no session appears to hold it: nothing was changed, so try again; if it happens again, look in pg_stat_activity for a transaction that does not end", e.What)
	}
	return fmt.Sprintf("%s is held by %s: nothing was changed; wait until its transaction has ended, or end it (pg_terminate_backend), and try again",
		e.What, strings.Join(by, ", "))
}
