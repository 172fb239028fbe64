package pgmint

import (
	"fmt"
	"strings"
)

// BlockedError says that a command changed nothing, since other sessions hold a lock that it needs
// exclusively. It waits for them only briefly, because all later users of the lock wait behind it.
type BlockedError struct {
	What string   // what is locked
	By   []string // its holders: process ids of backends with their application_name, or prepared transactions
}

func (e *BlockedError) Error() string {
	if len(e.By) == 0 {
		return fmt.Sprintf("%s was not free in time, and now no session appears to hold it: nothing was changed, so try again; if it happens again, look in pg_stat_activity for a transaction that does not end", e.What)
	}
	return fmt.Sprintf("%s is held by %s: nothing was changed; wait until its transaction has ended, or end it (pg_terminate_backend), and try again",
		e.What, strings.Join(e.By, ", "))
}
