package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/internal/name"
	"github.com/conchhq/conch/schedule/zone"
)

// MostArgs is how many bytes the arguments of a cron have at most.
const MostArgs = 256 << 10

// MostName is how many bytes the name of a cron or of a queue has at most.
const MostName = 64

const mostPriority = 3

// How often a job of a cron that has failed, or is lost with its worker, is tried again: [Cron].Retries.
const (
	DefaultRetries = 3
	NoRetries      = -1 // never
)

// HasNUL reports whether a text of JSON has NUL, which Postgres cannot store.
func HasNUL(text string) bool {
	for at := 0; ; at += 2 { // an escape has two bytes or more
		next := strings.IndexByte(text[min(at, len(text)):], '\\')
		if next < 0 {
			return false
		}
		if at += next; strings.HasPrefix(text[at:], `\u0000`) {
			return true
		}
	}
}

// Config configures a [Scheduler].
type Config struct {
	Version int64         // of Crons: a higher one replaces them
	Crons   []Cron        // that this node's file declares
	Node    string        // whose file that is
	Keep    time.Duration // for how long rows of scheduled times are kept (default 30 days)
	// Hold has workers take nothing after a restore of the database, until somebody says so: what the rows of a backup have as still to be done may have been
	// done. That of the file that counts does.
	Hold bool

	Tell  func(Event) // is told what happens, from any goroutine (default: nobody is)
	Clock fence.Clock // counts suspended time and never goes back (default: the system's)
}

// WithDefaults returns the configuration with all fields set, those of its crons too.
func (c Config) WithDefaults() Config {
	c.Keep = cmp.Or(c.Keep, 30*24*time.Hour)
	if c.Tell == nil {
		c.Tell = func(Event) {}
	}
	if c.Clock == nil {
		c.Clock = fence.Boottime
	}
	c.Crons = slices.Clone(c.Crons)
	for i, cron := range c.Crons {
		cron.Timezone, cron.CatchUp, cron.Overlap = cmp.Or(cron.Timezone, "UTC"), cmp.Or(cron.CatchUp, None), cmp.Or(cron.Overlap, Skip)
		cron.Limit, cron.Late, cron.Waits = cmp.Or(cron.Limit, 100), cmp.Or(cron.Late, time.Minute), cmp.Or(cron.Waits, 1)
		cron.Timeout, cron.Queue = cmp.Or(cron.Timeout, time.Hour), cmp.Or(cron.Queue, "default")
		cron.Retries = cmp.Or(cron.Retries, DefaultRetries)
		cron.Args = cmp.Or(cron.Args, "{}")
		c.Crons[i] = cron
	}
	return c
}

// File is what a configuration with defaults declares.
func (c Config) File() File {
	crons := slices.Clone(c.Crons)
	for i := range crons {
		crons[i].Retries = max(crons[i].Retries, 0)
	}
	return File{Version: c.Version, Node: c.Node, Crons: crons, Hold: c.Hold}
}

// Validate returns an error that lists every fault of a configuration with defaults.
func (c Config) Validate() error {
	f := faults.List{Of: "schedule: "}
	f.Add(c.Version < 0, "version %d: 0 or more", c.Version)
	f.Add(c.Keep < time.Hour, "keep %s: an hour at least", c.Keep)
	seen := map[string]bool{}
	for _, cron := range c.Crons {
		f.Add(seen[cron.Name], "the name %q twice", cron.Name)
		seen[cron.Name] = true
		f.Join(validate(cron))
	}
	return f.All()
}

func validate(c Cron) error {
	f := faults.List{Of: fmt.Sprintf("cron %q: ", c.Name)}
	f.Add(c.Name == "" || len(c.Name) > MostName, "a name has 1 to %d bytes", MostName)
	if fault := name.Fault(c.Name); c.Name != "" {
		f.Add(fault != "", "the name %s", fault)
	}
	if _, err := zone.Parse(c.Schedule, c.Timezone, time.Unix(0, 0)); err != nil {
		f.Add(true, "%w", err)
	}
	f.Join(handler(c))
	f.Add(!slices.Contains([]string{None, Latest, All}, c.CatchUp), "catch_up %q: %s, %s or %s", c.CatchUp, None, Latest, All)
	f.Add(!slices.Contains([]string{Skip, Queue, Allow}, c.Overlap), "overlap %q: %s, %s or %s", c.Overlap, Skip, Queue, Allow)
	f.Add(c.CatchUp == All && c.Overlap == Skip, "catch_up = %q with overlap = %q runs one missed time and skips the others: take overlap = %q", All, Skip, Queue)
	f.Add(c.Limit < 1 || c.Limit > 10_000, "limit %d: 1 to 10,000", c.Limit)
	f.Add(c.Late < time.Second, "late %s: a second at least, since a time is never run at once", c.Late)
	f.Add(c.Waits < 1, "waits %d: 1 at least", c.Waits)
	f.Add(c.Jitter < 0, "jitter %s: 0 or more", c.Jitter)
	f.Add(c.Timeout < time.Second, "timeout %s: a second at least", c.Timeout)
	f.Add(c.Retries < NoRetries, "retries %d: 0 or more", c.Retries)
	f.Add(c.Queue == "" || len(c.Queue) > MostName || name.Fault(c.Queue) != "", "the queue %q: 1 to %d bytes that people can read", c.Queue, MostName)
	f.Add(c.Priority < 0 || c.Priority > mostPriority, "priority %d: 0, the most urgent, to %d", c.Priority, mostPriority)
	return f.All()
}

// handler checks what is to be called.
func handler(c Cron) error {
	f := faults.List{Of: fmt.Sprintf("cron %q: ", c.Name)}
	count := 0
	for _, is := range []bool{len(c.Command) > 0, c.HTTP != "", c.Job != ""} {
		if is {
			count++
		}
	}
	f.Add(count != 1, "%d handlers: one of command, http and job", count)
	Call{Command: c.Command, HTTP: c.HTTP}.check(&f)
	f.Add(len(c.Args) > MostArgs, "args have %d bytes: %d at most", len(c.Args), MostArgs)
	f.Add(strings.Contains(c.Args, "\x00") || HasNUL(c.Args), "args contain NUL, which Postgres cannot store")
	f.Add(!json.Valid([]byte(c.Args)) && !strings.Contains(c.Args, "\x00"), `args are no JSON: write a text such as '{"to": "a@example.com"}', or a table`)
	return f.All()
}

// Validate returns an error that lists every fault of a call.
func (c Call) Validate() error {
	f := faults.List{}
	f.Add((len(c.Command) > 0) == (c.HTTP != ""), "want a command or an http address, one of them")
	c.check(&f)
	return f.All()
}

func (c Call) check(f *faults.List) {
	if len(c.Command) > 0 {
		_, err := exec.LookPath(c.Command[0])
		f.Add(err != nil, "the command cannot be run on this machine: install it, or correct its name: %w", err)
	}
	if c.HTTP != "" {
		u, err := url.Parse(c.HTTP)
		f.Add(err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http", "http = %q: want an address such as https://host/path", c.HTTP)
	}
}
