package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// most is how many findings of a kind a check has.
const most = 3

// few returns the first findings of a kind, and one that says how many others there are.
func few(found []Finding, more string) []Finding {
	if len(found) > most {
		last := &found[most]
		last.Detail, last.Remedy = fmt.Sprintf(more, len(found)-most), "the same for each: `conch status` lists them"
		found = found[:most+1]
	}
	return found
}

// jump is what the mint adds to an epoch for each new timeline.
const jump = 1_000_000

// notOnAStandby is the detail on a standby: candidates have sessions only on the primary.
const notOnAStandby = "not asked on a standby"

// history finds leaderships from another history of the database: a standby was promoted, a
// backup restored, or the cluster upgraded.
func history(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	for _, l := range f.Leaderships {
		if l.Epoch == 0 || l.SystemID == f.Server.SystemID && l.Timeline == f.Server.Timeline {
			continue
		}
		how := fmt.Sprintf("on timeline %d, and the server is on %d: a standby was promoted or a backup restored", l.Timeline, f.Server.Timeline)
		if l.SystemID != f.Server.SystemID {
			how = fmt.Sprintf("in system %d, and this is %d: restored from a dump, or upgraded", l.SystemID, f.Server.SystemID)
		}
		// Higher than the mint's own jump reaches.
		above := l.Epoch + jump*(l.Timeline+f.Server.Timeline)
		found = append(found, warn(fmt.Sprintf("scope %q was last led %s; tokens newer than epoch %d may be in use", l.Scope, how, l.Epoch),
			fmt.Sprintf("after a failover or an upgrade do nothing: the next election jumps over them; after a restore from a backup run `conch migrate advance --scope %s --epoch %d`", shell(l.Scope), above))...)
	}
	if len(found) == 0 {
		return ok(fmt.Sprintf("system %d, timeline %d; every scope was last led in it", f.Server.SystemID, f.Server.Timeline))
	}
	return few(found, "%d more scopes were last led in another history")
}

// shell quotes a scope for a command line if necessary.
func shell(scope string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.:/", r)
	}
	if strings.IndexFunc(scope, func(r rune) bool { return !plain(r) }) < 0 {
		return scope
	}
	return "'" + strings.ReplaceAll(scope, "'", `'\''`) + "'"
}

// holders finds terms whose process is gone and that have no successor.
func holders(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	led := 0
	for _, l := range f.Leaderships {
		switch {
		case l.Alive && !l.Parted:
			led++
			continue
		case l.Parted || l.Epoch == 0:
			continue
		}
		who := f.candidates(l.Scope)
		remedy := "start a process that campaigns for it"
		if len(who) > 0 {
			remedy = fmt.Sprintf("%s campaigns for it: unless it leads in a moment, look at its log and for sessions that hold the fence in pg_locks", strings.Join(who, ", "))
		}
		found = append(found, warn(fmt.Sprintf("scope %q: %s, which led it with epoch %d, is gone, its last heartbeat was %s ago, and it has no successor",
			l.Scope, l.Holder, l.Epoch, (time.Duration(max(l.SilentMS, 100))*time.Millisecond).Round(100*time.Millisecond)), remedy)...)
	}
	if len(found) == 0 {
		return ok(fmt.Sprintf("%d of %s led now, and no term of a dead process is left", led, Count(len(f.Leaderships), "scope is", "scopes are")))
	}
	return few(found, "%d more scopes have lost their holder")
}

func (f Facts) candidates(scope string) (ids []string) {
	for _, p := range f.Processes {
		if slices.Contains(p.Scopes, scope) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// takeover finds candidates of one scope that differ in takeover: the mint refuses those that do
// not agree with the last leader.
func takeover(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	scopes, agreed := f.scopes(), map[string]string{}
	for _, l := range f.Leaderships {
		if !l.Released {
			agreed[l.Scope] = l.Takeover
		}
	}
	takeovers := f.takeovers()
	for _, scope := range scopes {
		modes := takeovers[scope]
		delete(modes, agreed[scope])
		if len(modes) == 0 || agreed[scope] == "" && len(modes) == 1 {
			continue
		}
		detail := fmt.Sprintf("the candidates of scope %q agreed on takeover %q; refused there: %s", scope, agreed[scope], campaigning(modes))
		if agreed[scope] == "" {
			detail = fmt.Sprintf("the candidates of scope %q differ in takeover: %s; the first leader decides, and the others are refused from then on", scope, campaigning(modes))
		}
		found = append(found, warn(detail, "set one takeover for all candidates of the scope and restart those that have another; "+
			"to change the one that was agreed on, drain the scope first, since a released scope takes any")...)
	}
	if len(found) == 0 {
		return ok("all candidates of a scope have the same takeover")
	}
	return few(found, "candidates of %d more scopes differ in takeover")
}

// scopes returns all scopes that were ever led or have candidates, sorted.
func (f Facts) scopes() (all []string) {
	for _, l := range f.Leaderships {
		all = append(all, l.Scope)
	}
	for _, p := range f.Processes {
		all = append(all, p.Scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// takeovers returns, by scope, the names of its candidates by their takeover.
func (f Facts) takeovers() map[string]map[string][]string {
	of := map[string]map[string][]string{}
	for _, p := range f.Processes {
		for _, scope := range p.Scopes {
			if of[scope] == nil {
				of[scope] = map[string][]string{}
			}
			of[scope][p.Takeover] = append(of[scope][p.Takeover], p.ID)
		}
	}
	return of
}

func campaigning(modes map[string][]string) string {
	var parts []string
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		parts = append(parts, fmt.Sprintf("%s with %q", strings.Join(modes[mode], ", "), mode))
	}
	return strings.Join(parts, ", ")
}

// identities finds two live processes with one name that campaign for one scope.
func identities(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	for i, p := range f.Processes {
		for _, q := range f.Processes[i+1:] {
			if p.ID != q.ID {
				continue
			}
			shared := slices.IndexFunc(p.Scopes, func(s string) bool { return slices.Contains(q.Scopes, s) })
			if shared < 0 {
				continue
			}
			found = append(found, warn(fmt.Sprintf("two processes call themselves %q and campaign for %q: at most one leads, since their terms differ, but history and transfer cannot tell them apart", p.ID, p.Scopes[shared]),
				"give each process a CONCH_INSTANCE_ID or --id of its own, or none: then one is generated")...)
		}
	}
	if len(found) == 0 {
		return ok(fmt.Sprintf("%s, each under a name of its own", Count(len(f.Processes), "process is alive", "processes are alive")))
	}
	return found
}
