package doctor

import (
	"fmt"
	"strings"
)

var kinds = map[string]string{"f": "foreign table", "v": "view", "m": "materialized view", "p": "partitioned table", "S": "sequence"}

// tables finds tables that are not as the migrations made them.
func tables(f Facts) (found []Finding) {
	var hide, mend []string
	hidden := false
	for _, t := range f.Tables {
		switch {
		case t.Needed && t.Kind == "" && f.Schema > 0 && t.Elsewhere != "":
			found = append(found, fail(fmt.Sprintf("%s is missing, and there is a %s", t.Name, t.Elsewhere),
				fmt.Sprintf("as its owner, if it is that of conch: ALTER TABLE %s SET SCHEMA conch", t.Elsewhere))...)
		case t.Needed && t.Kind == "" && f.Schema > 0:
			found = append(found, fail(t.Name+" is missing, although the schema says that it was made", "restore it from a backup: see docs/operations.md, Backup and restore")...)
		case t.Needed && kinds[t.Kind] != "":
			found = append(found, fail(fmt.Sprintf("%s is a %s, which is none of conch's tables: what it keeps may be lost or shared", t.Name, kinds[t.Kind]),
				fmt.Sprintf("as its owner move it elsewhere (ALTER TABLE %s SET SCHEMA public), then run `conch migrate up`", t.Name))...)
		}
		if t.Secured {
			hide, mend, hidden = append(hide, t.Name), append(mend, fmt.Sprintf("ALTER TABLE %s DISABLE ROW LEVEL SECURITY;", t.Name)), hidden || t.Hides
		}
		if t.Rule != "" {
			found = append(found, fail(fmt.Sprintf("%s has the rule %s, which changes what conch writes", t.Name, t.Rule),
				fmt.Sprintf("as its owner: DROP RULE %s ON %s", t.Rule, t.Name))...)
		}
	}
	const remedy = "as the owner of the schema, and in the event trigger that switched it on, if there is one: "
	if hidden {
		found = append(found, fail(fmt.Sprintf("row-level security hides rows from role %q: %s", f.Server.Role, strings.Join(hide, ", ")), remedy+strings.Join(mend, " "))...)
	} else if len(hide) > 0 {
		found = append(found, warn(fmt.Sprintf("row-level security is on, and hides rows from other roles than %q: %s", f.Server.Role, strings.Join(hide, ", ")), remedy+strings.Join(mend, " "))...)
	}
	if len(found) == 0 {
		return ok("as the migrations made them, and no row is hidden")
	}
	return found
}

// waits finds locks on whole tables.
func waits(f Facts) []Finding {
	if len(f.Locked) == 0 {
		return ok("nothing keeps others from a table of conch")
	}
	return fail("tables of conch are locked, and who needs them waits: "+strings.Join(f.Locked, "; "),
		"wait until what is named first has ended, or end it as the detail says, unless you need it: the others wait for it")
}

// notifications finds a queue that some session does not read.
func notifications(f Facts) []Finding {
	detail := fmt.Sprintf("the server's queue of notifications is %.0f%% full", 100*f.Queue.Usage)
	if f.Queue.Usage < 0.1 {
		return ok(detail)
	}
	remedy := "end the session that listens and stays in a transaction; this role sees none: ask as a member of pg_read_all_stats"
	if len(f.Queue.Oldest) > 0 {
		remedy = "end the session that listens and stays in a transaction; the oldest are"
		for _, o := range f.Queue.Oldest {
			remedy += fmt.Sprintf(" · pid %d (%s, database %s), for %d s: SELECT pg_terminate_backend(%d)", o.PID, o.App, o.Base, o.Seconds, o.PID)
		}
	}
	return warn(detail+": from half full on conch announces nothing, and a handover takes until the next poll; once it is full, the commit of whatever else notifies fails", remedy)
}
