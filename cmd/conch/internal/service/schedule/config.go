package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/zone"
)

// Section is the configuration of the service: [schedule], [[crons]] and [[workers]].
type Section struct {
	there   bool // the file has a cron, or a version: its crons are those that there are to be, also if there are none
	scope   string
	posts   int
	workers []Worker
	version int
	keep    time.Duration // for how long rows of scheduled times are kept; 0: the default of package schedule
	restore string        // onGo or onHold
	crons   []schedule.Cron
}

// What is done after a restore of the database: [schedule] on_restore.
const (
	onGo   = "go"   // jobs are taken, and told that they may have been done
	onHold = "hold" // none is taken before conch jobs release
)

// defaultScope is what the node leads that runs the crons.
const defaultScope = "scheduler"

// The defaults of a cron that a file may set to 0.
const (
	defaultLimit = 100
	defaultWaits = 1
)

// Table implements config.Section.
func (*Section) Table() string { return "crons" }

// Keys implements config.Section.
func (s *Section) Keys(d *config.Decoder) map[string]config.Setter {
	return map[string]config.Setter{
		"schedule": func(place string, value any) {
			d.Table(place, value, map[string]config.Setter{
				"scope": d.Word(&s.scope), "keep": d.Span(&s.keep), "posts": oneOrMore(d, &s.posts), "on_restore": d.Word(&s.restore),
				"version": func(place string, v any) {
					s.there = true
					d.Count(&s.version)(place, v)
				},
			})
		},
		"workers": func(place string, value any) { s.readWorkers(d, place, value) },
		s.Table(): func(place string, value any) {
			s.there = true
			for i, v := range d.Tables(place, value) {
				s.crons = append(s.crons, readCron(d, fmt.Sprintf("%s[%d]", place, i), v))
			}
		},
	}
}

// keysOf are the keys of a cron.
func keysOf(d *config.Decoder, c *schedule.Cron) map[string]config.Setter {
	return map[string]config.Setter{
		"name": d.Name(&c.Name), "schedule": d.Word(&c.Schedule), "timezone": d.Word(&c.Timezone),
		"command": d.Command(&c.Command), "http": d.Word(&c.HTTP), "job": d.Name(&c.Job), "args": arguments(d, &c.Args),
		"catch_up": d.Word(&c.CatchUp), "limit": oneOrMore(d, &c.Limit), "late": d.Span(&c.Late),
		"overlap": d.Word(&c.Overlap), "waits": oneOrMore(d, &c.Waits), "jitter": d.Span(&c.Jitter),
		"timeout": d.Span(&c.Timeout), "retries": d.Count(&c.Retries), "queue": d.Name(&c.Queue), "priority": d.Count(&c.Priority),
		"fenced": d.Flag(&c.Fenced),
	}
}

func readCron(d *config.Decoder, place string, value any) schedule.Cron {
	one := schedule.Cron{Limit: defaultLimit, Waits: defaultWaits, Retries: schedule.DefaultRetries}
	if d.Table(place, value, keysOf(d, &one)); one.Retries == 0 {
		one.Retries = schedule.NoRetries
	}
	return one
}

// oneOrMore accepts a whole number above 0, which would count as left out.
func oneOrMore(d *config.Decoder, to *int) config.Setter {
	return func(place string, value any) {
		if d.Count(to)(place, value); value == int64(0) {
			d.Fault(place, "0 is too little: write 1 or more, or leave the key out")
		}
	}
}

// arguments accepts JSON as a text, or a table of the file.
func arguments(d *config.Decoder, to *string) config.Setter {
	return func(place string, value any) {
		if _, is := value.(map[string]any); !is {
			d.Word(to)(place, value)
			return
		}
		text, err := json.Marshal(value)
		if err != nil {
			d.Fault(place, "has a value that JSON does not have")
		}
		*to = string(text)
	}
}

// Settle implements config.Section.
func (s *Section) Settle(*config.Decoder, config.Config) {
	s.scope, s.posts, s.restore = cmp.Or(s.scope, defaultScope), cmp.Or(s.posts, defaultPosts), cmp.Or(s.restore, onGo)
	s.crons = s.config("").Crons
}

// config is that of a scheduler of this node.
func (s *Section) config(node string) schedule.Config {
	return schedule.Config{Version: int64(s.version), Crons: s.crons, Node: node, Keep: s.keep, Hold: s.restore == onHold}.WithDefaults()
}

// Roles implements config.Section. The fenced door is enough: a leader writes rows and nothing else, and a worker waits for the act door
// itself.
func (s *Section) Roles() (roles []config.Role) {
	if s.there {
		roles = append(roles, config.Role{Name: s.scope, Scope: s.scope, Fenced: true})
	}
	for _, w := range s.workers {
		for _, post := range s.postsOf(w) {
			roles = append(roles, config.Role{Name: post, Scope: post, Fenced: true, Kept: true, Does: w})
		}
	}
	return roles
}

// Validate implements config.Section.
func (s *Section) Validate(d *config.Decoder, c config.Config) {
	if s.there && c.Node.Standalone {
		d.Fault(s.Table(), "a standalone node forgets what it has run: give it a database, or take [schedule] and the crons out")
	}
	if s.keep > 0 && s.keep < time.Hour {
		d.Fault("schedule.keep", "%s: an hour at least", s.keep)
	}
	if s.restore != onGo && s.restore != onHold {
		d.Fault("schedule.on_restore", "%q is neither %q nor %q", s.restore, onGo, onHold)
	}
	s.validateWorkers(d, c)
	names := map[string]int{}
	for i, one := range s.crons {
		place := fmt.Sprintf("%s[%d]", s.Table(), i)
		if first, taken := names[one.Name]; taken && one.Name != "" {
			d.Fault(place+".name", "%q is the name of crons[%d] already", one.Name, first)
		}
		if _, taken := names[one.Name]; !taken {
			names[one.Name] = i
		}
		for _, fault := range faultsOf(d, place, one) {
			if !d.Faulted(fault[0]) { // as it was read
				d.Fault(fault[0], "%s", fault[1])
			}
		}
	}
}

// faultsOf lists the faults of a cron with their places: that of the key of which a fault speaks first, or else the cron's.
func faultsOf(d *config.Decoder, place string, c schedule.Cron) (all [][2]string) {
	err := schedule.Config{Crons: []schedule.Cron{c}}.WithDefaults().Validate()
	if err == nil {
		return nil
	}
	keys := keysOf(d, new(schedule.Cron))
	for line := range strings.Lines(err.Error()) {
		_, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), fmt.Sprintf("cron %q: ", c.Name))
		key, _, _ := strings.Cut(strings.Replace(strings.TrimPrefix(text, "the "), "time zone", "timezone", 1), " ")
		if key = strings.TrimSuffix(key, ":"); keys[key] != nil {
			all = append(all, [2]string{place + "." + key, text})
		} else {
			all = append(all, [2]string{place, text})
		}
	}
	return all
}

// remark says of each cron with two day fields which rule is meant, and when it is due next.
func remark(c config.Config, now time.Time, tell func(key, text string)) {
	s := config.Of[*Section](c)
	if s == nil {
		return
	}
	if !s.there && (s.scope != defaultScope || s.keep > 0 || s.restore == onHold) {
		tell("schedule", "this file has neither a cron nor a version: so it declares nothing, retires no cron, and scope, keep and on_restore do nothing")
	}
	for i, one := range s.crons {
		if host := s.unposted(one); host != "" {
			tell(fmt.Sprintf("%s[%d].http", s.Table(), i), fmt.Sprintf("a worker of this file takes jobs of the queue %q and does not post to %q: what it takes of this cron is dead at once. Add the host to its hosts", one.Queue, host))
		}
		plan, err := zone.Parse(one.Schedule, one.Timezone, now)
		if err != nil || !plan.EitherDay() {
			continue
		}
		tell(fmt.Sprintf("%s[%d].schedule", s.Table(), i),
			"both day fields are set: a day that either of them names is meant, and not only one that both name. Next: "+strings.Join(spelled(next(plan, now, 3), one.Timezone), ", "))
	}
}

// unposted returns the host of a cron to which a worker that may take its jobs does not post; empty: there is none.
func (s *Section) unposted(c schedule.Cron) string {
	u, err := url.Parse(c.HTTP)
	if c.HTTP == "" || err != nil {
		return ""
	}
	for _, w := range s.workers {
		if slices.Contains(w.Queues, c.Queue) && !slices.Contains(w.Hosts, u.Host) {
			return u.Host
		}
	}
	return ""
}

// next lists the next times of a schedule.
func next(plan zone.Schedule, after time.Time, most int) (all []time.Time) {
	for len(all) < most {
		one, is := plan.Next(after)
		if !is {
			break
		}
		after = one.At
		all = append(all, after)
	}
	return all
}

// spelled writes times as the clocks of a zone read.
func spelled(all []time.Time, timezone string) (out []string) {
	place, err := time.LoadLocation(timezone)
	if err != nil {
		place = time.UTC
	}
	for _, at := range all {
		out = append(out, at.In(place).Format("Mon 2006-01-02 15:04:05 MST"))
	}
	return out
}

// queues lists the queues of the crons and of the workers.
func (s *Section) queues() (all []string) {
	for _, w := range s.workers {
		all = append(all, w.Queues...)
	}
	for _, c := range s.crons {
		all = append(all, c.Queue)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
