package belfry

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

func settings(cfg *Config) []story.Setting {
	return []story.Setting{story.Count("nodes", "how many nodes; 3 if it is not said", &cfg.Nodes), story.Seed(&cfg.Seed)}
}

// stage is a belfry that a story drives: nothing happens but what it says.
type stage struct {
	*run
	named map[string]int64 // jobs
}

func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.Say = func(who, what string) { r.Tell(r.W.Now(), who, what) }
	for _, n := range r.nodes {
		n.Start()
	}
	return &stage{run: r, named: map[string]int64{}}
}

// End implements story.World: ten minutes without a fault.
func (s *stage) End() {
	s.ends()
	s.Until(s.W.Now()+10*time.Minute, nil)
	s.conclude()
}

// Words implements story.World.
func (s *stage) Words() []story.Word {
	paused, retired := func(c *core.Change) *bool { return &c.Paused }, func(c *core.Change) *bool { return &c.Retired }
	return append([]story.Word{
		{Form: "cron NAME TEXT", What: "a user makes a cron, or changes it: none, latest or all of what is missed is run, and its schedule", Do: s.change(define)},
		{Form: "pause NAME", What: "a user pauses a cron", Do: s.change(sets(paused, true))},
		{Form: "resume NAME", What: "a user lets it run again", Do: s.change(sets(paused, false))},
		{Form: "retire NAME", What: "a user does away with it", Do: s.change(sets(retired, true))},
		{Form: "job NAME", What: "a user adds a job: a command that takes some seconds", Do: s.job(false)},
		{Form: "fenced NAME", What: "a user adds a job whose handler proves its attempt", Do: s.job(true)},
	}, s.Site.Words()...)
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	count := func(of func(string) int, verb string) func(story.Args) (bool, string) {
		return func(a story.Args) (bool, string) {
			n := of(a.Name)
			return n == a.Number, fmt.Sprintf("%d %s", n, verb)
		}
	}
	return []story.Fact{
		{Form: "rows NAME NUMBER", What: "so many times of a cron have a row", Holds: count(func(cron string) int { return s.rows[cron] }, "are")},
		{Form: "begun NAME NUMBER", What: "so many attempts at a job have begun", Holds: count(func(job string) int { return s.begins[s.named[job]] }, "have")},
		{Form: "done NAME", What: "a job is done", Holds: func(a story.Args) (bool, string) {
			id, is := s.named[a.Name]
			if !is {
				return false, fmt.Sprintf("there is no job %q", a.Name)
			}
			j := s.tables.Job(id)
			return j.State == tables.Over && slices.Contains(j.Outcomes, worker.Done), fmt.Sprintf("it is %s", j.State)
		}},
		{Form: "passed NAME NUMBER", What: "so many times of it are passed over", Holds: count(func(cron string) int { return s.passed[cron] }, "are")},
	}
}

// asks is a word by which a user asks the database for something.
func (s *stage) asks(do func(story.Args) error) func(story.Args) error {
	return func(a story.Args) error {
		if s.Away {
			return errors.New("the database is away")
		}
		return do(a)
	}
}

// job adds a job.
func (s *stage) job(fenced bool) func(story.Args) error {
	return s.asks(func(a story.Args) error {
		j := tables.Job{Retries: 3}
		j.Fenced = fenced
		s.named[a.Name], _ = s.tables.Add(j, s.Clock(), s.Clock(), -1)
		s.wake()
		return nil
	})
}

// change changes a cron, by what is so and the words of a line.
func (s *stage) change(do func(*core.Change, story.Args) error) func(story.Args) error {
	return s.asks(func(a story.Args) error {
		var c core.Change
		for _, l := range s.tables.Living() {
			if l.Name == a.Name {
				c = core.Change{ID: l.ID, Definition: l.Definition}
			}
		}
		if err := do(&c, a); err != nil {
			return err
		}
		s.revise(c)
		return nil
	})
}

// define makes a cron, or changes it.
func define(c *core.Change, a story.Args) error {
	catchUp, schedule, is := strings.Cut(a.Text, " ")
	if !is || !slices.Contains([]string{core.None, core.Latest, core.All}, catchUp) {
		return fmt.Errorf("%q: want none, latest or all, and a schedule", a.Text)
	}
	c.Definition = cron(a.Name, schedule, catchUp, core.Allow)
	return nil
}

// sets is a change of a cron that is there.
func sets(field func(*core.Change) *bool, to bool) func(*core.Change, story.Args) error {
	return func(c *core.Change, a story.Args) error {
		if c.ID == 0 {
			return fmt.Errorf("there is no cron %q", a.Name)
		}
		*field(c) = to
		return nil
	}
}
