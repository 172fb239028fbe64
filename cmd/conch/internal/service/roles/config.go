package roles

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/internal/name"
)

// Section is [[roles]].
type Section struct{ roles []config.Role }

// Job is what a role does while it leads: one of the three, or else it only keeps its gate.
type Job struct {
	Command []string      // runs while leading
	DB      string        // what it gets as CONCH_DB_URL: a URL, or none; empty: the node's. It may have a password
	User    string        // whom it runs as; empty: the node's user
	HTTP    string        // gets POST …/start when leading begins, …/stop when it ends; may have a password
	Builtin string        // one of builtins
	Keep    time.Duration // of builtinCompaction and builtinAggregation: for how long rows are kept
	Every   time.Duration // of builtinAggregation: the length of a slot
}

// The built-in roles.
const (
	builtinLog         = "log"         // it logs a line each second, for trials
	builtinCompaction  = "compaction"  // it deletes old rows of all services, or moves them out of the way
	builtinAggregation = "aggregation" // it writes down figures of the whole cluster
)

// builtin is what one may be told.
type builtin struct {
	keep, least   time.Duration // for how long rows are kept by default, and at least; 0: it keeps none
	every         time.Duration // the length of a slot by default; 0: it has none
	needsDatabase string        // why; empty: it needs none
}

var builtins = map[string]builtin{
	builtinLog:         {},
	builtinCompaction:  {keep: 90 * 24 * time.Hour, least: 24 * time.Hour, needsDatabase: "has no history"},
	builtinAggregation: {keep: 48 * time.Hour, least: time.Hour, every: 15 * time.Second, needsDatabase: "has nowhere to keep figures"},
}

// The length of a slot.
const (
	leastEvery = time.Second
	mostEvery  = 5 * time.Minute // conch doctor warns of an aggregation that has done nothing for three times as long
)

// Table implements config.Section.
func (*Section) Table() string { return "roles" }

// Roles implements config.Section.
func (s *Section) Roles() []config.Role { return s.roles }

// Settle implements config.Section.
func (*Section) Settle(*config.Decoder, config.Config) {}

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{s.Table(): func(place string, value any) {
		for i, v := range d.Tables(place, value) {
			var r config.Role
			var job Job
			keys := d.Role(&r)
			maps.Copy(keys, map[string]config.Setter{
				"command": d.Command(&job.Command), "cmd_db": d.Word(&job.DB), "user": d.Word(&job.User), "http": d.Word(&job.HTTP), "builtin": d.Word(&job.Builtin), "keep": d.Span(&job.Keep),
				"every": d.Span(&job.Every),
			})
			d.Table(fmt.Sprintf("%s[%d]", place, i), v, keys)
			if why := name.Fault(r.Name); why != "" && r.Scope != "" {
				d.Fault(fmt.Sprintf("%s[%d].name", place, i), "%q %s", r.Name, why)
			}
			r.Scope = cmp.Or(r.Scope, r.Name) // the election judges it
			r.Name = cmp.Or(r.Name, r.Scope)
			r.Kept, r.Does = job.Command != nil, job
			s.roles = append(s.roles, r)
		}
	}}
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	names, once := map[string]int{}, map[string]int{}
	for i, r := range s.roles {
		place := fmt.Sprintf("%s[%d]", s.Table(), i)
		if r.Scope == "" {
			d.Fault(place, "has neither name nor scope: give it a name")
			continue
		}
		first, taken := names[r.Name]
		if taken && r.Scope != s.roles[first].Scope { // equal scopes are reported elsewhere
			d.Fault(place+".name", "%q is the name of roles[%d] already", r.Name, first)
		} else if !taken {
			names[r.Name] = i
		}
		if c.Node.Standalone && c.Election.ID != "" && slices.Contains(r.Never, c.Election.ID) {
			d.Fault(place+".never", "%q is this node, which is standalone, so nobody could lead the role: take the name out, or the role", c.Election.ID)
		}
		validateJob(d, place, r)
		job, _ := r.Does.(Job)
		if why := builtins[job.Builtin].needsDatabase; why != "" {
			if c.Node.Standalone {
				d.Fault(place+".builtin", "a standalone node %s: take the role out, or give the node a database", why)
			}
			if first, taken := once[job.Builtin]; taken {
				d.Fault(place+".builtin", "roles[%d] is %q already, for the whole database: take one of them out", first, job.Builtin)
			}
			once[job.Builtin] = i
		}
	}
}

func validateJob(d *config.Decoder, place string, r config.Role) {
	job, _ := r.Does.(Job)
	kinds := 0
	if job.Command != nil {
		kinds++
		if len(job.Command) == 0 || job.Command[0] == "" {
			d.Fault(place+".command", "is empty: name a program")
		}
	} else if job.DB+job.User != "" {
		d.Fault(place, "has cmd_db or user, which are a command's: name the command")
	}
	if job.DB != "" && job.DB != cli.NoDatabase && !strings.Contains(job.DB, "://") {
		d.Fault(place+".cmd_db", "is neither a URL nor %s", cli.NoDatabase) // it may have a password
	}
	if job.HTTP != "" {
		kinds++
		// Faults do not repeat the URL: it may contain a password.
		if u, err := url.Parse(job.HTTP); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			d.Fault(place+".http", "is not a URL such as http://127.0.0.1:9000/lead")
		} else if strings.ContainsAny(job.HTTP, "?#") {
			d.Fault(place+".http", "has a ? or #: /start and /stop are appended to it, so end it with a path")
		}
	}
	if job.Builtin != "" {
		kinds++
		if _, known := builtins[job.Builtin]; !known {
			d.Fault(place+".builtin", "%q is not built in: there are %q", job.Builtin, slices.Sorted(maps.Keys(builtins)))
		}
	}
	validateSpans(d, place, job)
	if kinds > 1 {
		d.Fault(place, "does more than one of command, http, builtin: make it two roles")
	}
	if r.StallAfter > 0 && job.Builtin != builtinLog {
		d.Fault(place+".stall_after", "needs a role that reports its progress, which a command or a callback cannot do: take it out")
	}
}

// validateSpans finds keys that a built-in role does not have.
func validateSpans(d *config.Decoder, place string, job Job) {
	own := builtins[job.Builtin]
	if job.Keep > 0 && own.keep == 0 {
		d.Fault(place+".keep", "is for builtin = %q and %q: take it out", builtinAggregation, builtinCompaction)
	} else if job.Keep > 0 && job.Keep < own.least {
		d.Fault(place+".keep", "%s: %s at least for builtin = %q", job.Keep, own.least, job.Builtin)
	}
	if job.Every > 0 && own.every == 0 {
		d.Fault(place+".every", "is for builtin = %q: take it out", builtinAggregation)
	} else if job.Every > 0 && (job.Every < leastEvery || job.Every > mostEvery) {
		d.Fault(place+".every", "%s: %s to %s", job.Every, leastEvery, mostEvery)
	}
}
