package doctor

import "fmt"

// NodeConnections is what one process of `conch node` or `conch run` keeps open
// while it follows one leader: the lock session, a waiter, a listener for changes,
// a listener for commands and a connection to answer them, and the dashboard's reader.
const NodeConnections = 6

func locks(f Facts) []Finding {
	r := f.Room
	table := r.LocksEach * (r.Connections + r.Prepared)
	need := locksNeeded(f)
	detail := fmt.Sprintf("%d × (%d + %d) = %d locks, %d held; for %s and %s",
		r.LocksEach, r.Connections, r.Prepared, table, r.LocksHeld, Count(len(f.Leaderships), "scope", "scopes"), Count(len(f.Processes), "process", "processes"))
	const remedy = "raise max_locks_per_transaction and restart the server: a full lock table keeps even new connections out"
	var heavy []Finding
	for _, p := range f.Processes {
		if most := len(p.Scopes) + 2; p.Locks != "process" && most > table/4 {
			heavy = append(heavy, warn(fmt.Sprintf("%s may hold %d locks, more than a quarter of the table, which is the default lock_budget", p.ID, most),
				`raise max_locks_per_transaction and restart the server, or set locks = "process" for it: one lock for all of its scopes`)...)
		}
	}
	switch {
	case need > table || r.LocksHeld > table*9/10:
		return append(fail(detail, remedy), heavy...)
	case need > table/2 || r.LocksHeld > table/2:
		return append(warn(detail, remedy), heavy...)
	case len(heavy) > 0:
		return heavy
	}
	return ok(detail)
}

// locksNeeded returns the locks of all scopes at worst: each process takes one, each scope one for
// its fence, and one more unless its holder locks by process.
func locksNeeded(f Facts) int {
	byProcess := map[int64]bool{}
	for _, p := range f.Processes {
		byProcess[p.Key] = p.Locks == "process"
	}
	n := len(f.Processes) + len(f.Leaderships)
	for _, l := range f.Leaderships {
		if !byProcess[l.Process] {
			n++
		}
	}
	return n
}

func connections(f Facts) []Finding {
	r := f.Room
	left := r.Connections - r.Reserved - r.InUse
	detail := fmt.Sprintf("%d of %d left", max(left, 0), r.Connections-r.Reserved)
	remedy := "raise max_connections, or run fewer programs on this server"
	for _, limit := range []struct {
		limit, used  int
		what, remedy string
	}{
		{r.RoleLimit, r.RoleInUse, fmt.Sprintf("role %q", f.Server.Role), fmt.Sprintf("ALTER ROLE %q CONNECTION LIMIT -1, or a higher one", f.Server.Role)},
		{r.BaseLimit, r.BaseInUse, "this database", "ALTER DATABASE … CONNECTION LIMIT -1, or a higher one"},
	} {
		if limit.limit >= 0 && limit.limit-limit.used < left {
			left, remedy = limit.limit-limit.used, limit.remedy
			detail = fmt.Sprintf("%d of %d left to %s", max(left, 0), limit.limit, limit.what)
		}
	}
	if left < NodeConnections {
		return warn(fmt.Sprintf("%s, and a node keeps up to %d open", detail, NodeConnections), remedy)
	}
	return ok(detail)
}
