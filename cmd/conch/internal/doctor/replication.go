package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/conchhq/conch/internal/pattern"
)

// replication says what the database's replication means for the guarantees.
func replication(f Facts) []Finding {
	names := f.setting("synchronous_standby_names").Value
	var synced, spare, hidden int
	for _, s := range f.Standbys {
		switch s.Sync {
		case "sync", "quorum":
			synced++
		case "potential":
			spare++
		case "":
			hidden++
		}
	}
	need := confirmations(names)
	const docs = "see docs/operations.md, Postgres that fails over"
	switch {
	case f.Server.Standby:
		return warn("this is a standby: ask the primary", "name the primary in the URL")
	case names == "" && len(f.Standbys) == 0:
		return ok("one server: every guarantee holds for as long as its data does; a restore from a backup is another history, and asks for `conch migrate advance`")
	case names == "":
		return warn(fmt.Sprintf("asynchronous, %s: a failover may forget the newest transactions and leaderships, "+
			"and clients may still reach and believe the old primary; epochs minted afterwards are higher than any that was lost", Count(len(f.Standbys), "standby", "standbys")),
			"set synchronous_standby_names if at most one actor must hold across failovers; "+docs)
	case hidden > 0 && synced == 0:
		return warn(fmt.Sprintf("synchronous_standby_names is %q and %s connected, but this role cannot see whether one of them is synchronous",
			names, Count(hidden, "standby is", "standbys are")), fmt.Sprintf("GRANT pg_monitor TO %q, or run doctor as another role", f.Server.Role))
	case synced < need:
		return fail(fmt.Sprintf("synchronous_standby_names is %q and %d of %d such standbys connected: every heartbeat waits for the rest, so nobody leads", names, synced, need),
			"bring a standby back, or correct synchronous_standby_names; if you empty it, replication is asynchronous")
	case synced+spare > need:
		return ok(fmt.Sprintf("synchronous, %d standbys can confirm a commit and %d must: a failover keeps the guarantees only if so many are first cut off from the old primary "+
			"that the rest cannot confirm; %s", synced+spare, need, docs))
	case need == 1:
		return ok("synchronous, one standby confirms every commit: guarantees hold across a failover to it; without it nobody leads until it is back or replaced")
	}
	return ok(fmt.Sprintf("synchronous, %d standbys confirm every commit: guarantees hold across a failover to one of them; without all of them nobody leads", synced))
}

var listed = pattern.Of(`(?i)^\s*(?:any\s+|first\s+)?(\d+)\s*\(`)

// confirmations returns how many standbys a commit waits for; a plain list means one.
func confirmations(names string) int {
	if found := listed().FindStringSubmatch(names); found != nil {
		n, _ := strconv.Atoi(found[1])
		return n
	}
	return 1
}

// durability finds settings by which a crash may lose commits, which no heartbeat can detect.
func durability(f Facts) (found []Finding) {
	if s := f.setting("fsync"); s.Value == "off" {
		found = append(found, fail("fsync is off: a crash of the machine may lose epochs that were issued", "set fsync = on in postgresql.conf")...)
	}
	if s := f.setting("full_page_writes"); s.Value == "off" {
		found = append(found, warn("full_page_writes is off: a crash may leave torn pages, unless the file system forbids them",
			"set full_page_writes = on in postgresql.conf")...)
	}
	if s := f.setting("synchronous_commit"); s.Value == "off" || s.Value == "local" {
		found = append(found, warn(fmt.Sprintf("synchronous_commit is %s: conch sets its own to on, but your fenced transactions may be lost after their commit", s.Value),
			f.undo(s))...)
	}
	if f.setting("client_min_messages").Value == "error" && f.setting("synchronous_standby_names").Value != "" {
		found = append(found, warn("client_min_messages is error: conch sets its own to warning, but your fenced transactions are not told "+
			"when a commit has reached no standby", "RESET client_min_messages where it is set, for the role or the database, or take it out of the URL")...)
	}
	if len(f.Unlogged) > 0 {
		found = append(found, fail(fmt.Sprintf("%s unlogged: empty after a crash and on every standby, and epochs begin again", are(f.Unlogged)),
			fmt.Sprintf("ALTER TABLE %s SET LOGGED", f.Unlogged[0]))...)
	}
	if len(found) == 0 {
		return ok("a commit that was confirmed survives a crash")
	}
	return found
}

func are(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// Count returns a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
