package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/expiry"
)

// minVersion is the oldest server that can end the session of a silent leader.
const minVersion = 140000

func reachable(f Facts) []Finding {
	switch {
	case f.Standalone:
		return ok("not asked: a standalone node uses no database, and nothing keeps a second copy of it from acting")
	case f.Unled:
		return ok("not asked: this node has no role, so it leads nothing and needs no database")
	case f.Unreachable != "":
		return fail(f.Unreachable, "mend what the detail says, then run doctor again: nobody leads without the database")
	case f.Server.Standby:
		return fail(f.Target+" is a standby and takes no writes",
			"name the primary, or all hosts and target_session_attrs=read-write, in the URL")
	case f.Session != "" && f.Pooler == "":
		return fail("no lock session can be opened: "+f.Session, "do what the detail says: a node opens such a session")
	}
	return ok(f.Target)
}

func addresses(f Facts) []Finding {
	if len(f.Addresses) < 2 {
		return ok("one")
	}
	all := strings.Join(f.Addresses, "; ")
	if f.Unusable {
		return warn(all, "mend the address that does not answer as it should, or take it out of the URL: connections get past it, and nothing is left if the others fail too")
	}
	return ok(all)
}

func encryption(f Facts) []Finding {
	const remedy = "use sslmode=verify-full in the URL, and CONCH_DB_TLS_CA_FILE if you have your own authority"
	switch {
	case f.Line.Verified && f.Line.Certificate.Grade >= expiry.Week:
		return warn("TLS, and the certificate of the database's server "+f.Line.Certificate.Text, "renew it on the server and have that read it again (SELECT pg_reload_conf()): "+
			"sessions that are open stay, and no new one is opened after its end, so the next failover would fail")
	case f.Line.TLS && f.Line.Verified:
		return ok("TLS, and the server's certificate is verified")
	case f.Line.TLS:
		return warn("TLS, but the server's certificate is not verified", remedy)
	case f.Line.Local:
		return ok("none, and none needed: the connection does not leave this machine")
	}
	return warn("none: passwords and statements cross the network in plain text", remedy)
}

func serverVersion(f Facts) []Finding {
	if f.Server.Version < minVersion {
		return fail("PostgreSQL "+f.Server.Text+" cannot end a silent leader's session", "upgrade the server to 14 or later")
	}
	return ok("PostgreSQL " + f.Server.Text)
}

func pooler(f Facts) []Finding {
	switch f.Pooler {
	case "":
		return ok("none in between")
	case "session":
		return warn(f.poolerName()+" in session mode is in between: its limits and its restarts end leaderships, and a node holds its connections for good",
			"connect to PostgreSQL directly, or give the pool more connections than nodes need, no query_timeout below ten seconds, "+
				"and server_reset_query = DISCARD ALL, without which a process that dies leaves its locks to the pool")
	case "transaction", "statement":
		return fail(f.poolerName()+" in "+f.Pooler+" mode is in between, behind which two processes can hold one lock; conch refuses to work here",
			"connect to PostgreSQL directly, or through a pool in session mode; the application's own transactions may stay behind a pooler in transaction mode")
	}
	return fail(f.poolerName()+" is in between, and its mode could not be found out: "+f.Session,
		"connect to PostgreSQL directly, or give a pool in session mode more connections")
}

func schemaVersion(f Facts) []Finding {
	v := fmt.Sprintf("the schema is at version %d, this program works with %d to %d", f.Schema, f.Oldest, f.Newest)
	switch {
	case f.Schema == 0:
		return fail("the database has no schema conch", "run `conch migrate up` as its owner, then deploy/grants.sql")
	case f.Schema < f.Oldest:
		return fail(v, "run `conch migrate up` as the owner, then deploy/grants.sql")
	case f.Schema > f.Newest+1:
		return fail(v, "upgrade this program")
	case f.Schema > f.Newest:
		return warn(v+", and tolerates one version more", "upgrade this program before the schema is upgraded again")
	}
	return ok(fmt.Sprintf("version %d", f.Schema))
}

func privileges(f Facts) []Finding {
	const remedy = "run deploy/grants.sql as the owner of the schema, or connect as a role that it names"
	var missing []string
	looks, leads := true, false
	for _, p := range f.Privileges {
		switch {
		case !p.Has && p.Look:
			looks = false
			missing = append(missing, p.Name)
		case !p.Has:
			missing = append(missing, p.Name)
		case !p.Look:
			leads = true
		}
	}
	switch {
	case len(missing) == 0 && len(f.Immortal) > 0:
		return warn(fmt.Sprintf("enough for a node, but sessions of %s could hold a fence and not be ended by role %q: "+
			"one that works on and on under a fence keeps the next leader waiting", strings.Join(f.Immortal, ", "), f.Server.Role),
			fmt.Sprintf("let workers log in as the role that may fence, of which nodes are members, or GRANT pg_signal_backend TO %q", f.Server.Role))
	case len(missing) == 0:
		return ok(fmt.Sprintf("role %q has what a node needs", f.Server.Role))
	case looks && !leads:
		return warn(fmt.Sprintf("role %q may read and not lead: right for an observer, wrong for a node", f.Server.Role), remedy)
	}
	slices.Sort(missing)
	return fail(fmt.Sprintf("role %q lacks %s", f.Server.Role, strings.Join(missing, ", ")), remedy)
}
