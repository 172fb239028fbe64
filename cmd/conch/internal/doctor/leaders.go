package doctor

import (
	"fmt"
	"strings"
	"time"
)

// patience is how many leases a scope may be without a leader; a crash costs one or two.
const patience = 3

// leaders finds scopes that have candidates and no leader.
func leaders(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	for _, l := range f.Leaderships {
		who := f.candidates(l.Scope)
		if l.Alive && !l.Parted || len(who) == 0 || l.SilentMS <= patience*l.LeaseMS {
			continue
		}
		since := (time.Duration(l.SilentMS) * time.Millisecond).Round(time.Second)
		detail := fmt.Sprintf("nobody has led scope %q for %s, and %s would like to", l.Scope, since, strings.Join(who, ", "))
		remedy := "no obstacle is visible from here: look for NOBODY LEADS in the candidates' logs; one that is barred, or cannot give an earlier term up, says why there"
		if l.Obstacle != "" {
			detail, remedy = detail+": "+l.Obstacle, "end it as the detail says, unless you need it: it may still be at work"
		}
		found = append(found, fail(detail, remedy)...)
	}
	if len(found) == 0 {
		return ok("no scope with candidates lacks a leader for long")
	}
	return few(found, "nobody leads %d more scopes")
}

// roles finds roles that have failed: their scopes look led.
func roles(f Facts) (found []Finding) {
	for _, l := range f.Leaderships {
		if l.Failures == 0 {
			continue
		}
		found = append(found, warn(fmt.Sprintf("the role of scope %q has failed %s in ten minutes, last: %s", l.Scope, Count(int(l.Failures), "time", "times"), l.LastFailure),
			fmt.Sprintf("mend the role; `conch history --scope %s` says where it failed, and why each time", shell(l.Scope)))...)
	}
	if len(found) == 0 {
		return ok("no role has failed in the last ten minutes")
	}
	return few(found, "the roles of %d more scopes have failed")
}
