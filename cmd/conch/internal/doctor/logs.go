package doctor

import "fmt"

// logs finds processes whose log nobody reads: each has said how many lines of it are missing.
func logs(f Facts) (found []Finding) {
	if f.Server.Standby {
		return ok(notOnAStandby)
	}
	for _, p := range f.Processes {
		if p.Lost > 0 {
			found = append(found, warn(fmt.Sprintf("%q has lost %d lines of its log or more, since nobody reads them or they could not be written", p.ID, p.Lost),
				"look at what reads its stderr, such as the journal, a pipe or a terminal, and at the room on that disk; conch_lines_lost_total goes on counting")...)
		}
	}
	if len(found) == 0 {
		return ok("no process says that lines of its log are missing")
	}
	return few(found, "%d more processes have lost lines of their logs")
}
