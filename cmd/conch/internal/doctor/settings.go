package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// listenerRest is how long a listener is silent before it checks its connection. The other connections of
// conch set their own timeouts and isolation; what the role or the database has is for the application.
const listenerRest = 3 * time.Second

// undo returns how to remove a setting, which depends on its source.
func (f Facts) undo(s Setting) string {
	switch s.Source {
	case "user":
		return fmt.Sprintf("ALTER ROLE %q RESET %s", f.Server.Role, s.Name)
	case "database user":
		return fmt.Sprintf("ALTER ROLE %q IN DATABASE … RESET %s", f.Server.Role, s.Name)
	case "database":
		return fmt.Sprintf("ALTER DATABASE … RESET %s, or set it otherwise for conch alone: ALTER ROLE %q SET %s = …", s.Name, f.Server.Role, s.Name)
	case "client", "session", "environment variable":
		return fmt.Sprintf("take %s out of the URL, or out of PGOPTIONS", s.Name)
	}
	return fmt.Sprintf("change %s in postgresql.conf, or set it otherwise for conch alone: ALTER ROLE %q SET %s = …", s.Name, f.Server.Role, s.Name)
}

// limits are the timeouts that can hurt, and the values below which they do.
var limits = []struct {
	name  string
	below time.Duration
	why   string
}{
	{
		"idle_session_timeout", 2 * listenerRest,
		"lock sessions and waiters set their own, but listeners and commands lose their connection over and over, and are then only as fast as polling",
	},
	{
		"idle_in_transaction_session_timeout", 10 * time.Millisecond,
		"no client can put a second statement into a transaction in that time",
	},
}

func settings(f Facts) (found []Finding) {
	for _, l := range limits {
		s := f.setting(l.name)
		ms, err := strconv.ParseInt(s.Value, 10, 64)
		if err != nil || ms == 0 || time.Duration(ms)*time.Millisecond >= l.below {
			continue
		}
		found = append(found, warn(fmt.Sprintf("%s is %s (from: %s): %s", s.Name, time.Duration(ms)*time.Millisecond, s.Source, l.why), f.undo(s))...)
	}
	if s := f.setting("default_transaction_read_only"); s.Value == "on" {
		found = append(found, fail(fmt.Sprintf("default_transaction_read_only is on (from: %s): nobody can be elected", s.Source), f.undo(s))...)
	}
	if s := f.setting("session_replication_role"); s.Value == "replica" {
		found = append(found, fail(fmt.Sprintf("session_replication_role is replica (from: %s): no trigger fires, so nothing guards the epochs and nobody is notified", s.Source), f.undo(s))...)
	}
	if len(found) == 0 {
		return ok("nothing shortens or defeats the lease")
	}
	return found
}

func guards(f Facts) []Finding {
	if len(f.Disarmed) == 0 {
		return ok("the triggers that keep epochs and announce changes are there")
	}
	return fail(fmt.Sprintf("%s missing or disabled: epochs may go down unnoticed, or followers are not woken", are(f.Disarmed)),
		"as the owner of the schema: "+strings.Join(f.Rearm, " "))
}
