package belfry

import (
	"embed"
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
	r.Say = func(who, what string) { r.Tell(r.w.Now(), who, what) }
	for _, n := range r.nodes {
		n.start()
	}
	return &stage{run: r, named: map[string]int64{}}
}

// End implements story.World: ten minutes without a fault.
func (s *stage) End() {
	s.ends()
	s.Until(s.w.Now()+10*time.Minute, nil)
	s.conclude()
}

// Node implements story.World.
func (s *stage) Node(name string) story.Node {
	for _, n := range s.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// Leader implements story.World.
func (s *stage) Leader() string {
	if s.leader == nil {
		return ""
	}
	return s.leader.name
}

// Cut implements story.World: nodes are cut off from the database.
func (s *stage) Cut(l story.Link) error { return s.link(l, true) }

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error { return s.link(l, false) }

func (s *stage) link(l story.Link, cut bool) error {
	for _, n := range l.Nodes {
		s.cut[n] = cut
	}
	return nil
}

// Runs implements story.Node.
func (n *node) Runs() bool { return n.up }

// Stands implements story.Node.
func (n *node) Stands() bool { return n.up && n.frozen }

// Kill implements story.Node.
func (n *node) Kill() { n.r.kill(n, world.Never/2) }

// Start implements story.Node.
func (n *node) Start() { n.start() }

// Freeze implements story.Node.
func (n *node) Freeze() error { n.r.freeze(n, world.Never/2); return nil }

// Thaw implements story.Node.
func (n *node) Thaw() { n.thaw() }

// Words implements story.World.
func (s *stage) Words() []story.Word {
	change := func(do func(*core.Change)) func(story.Args) error {
		return func(a story.Args) error {
			for _, l := range s.tables.Living() {
				if l.Name == a.Name {
					c := core.Change{ID: l.ID, Definition: l.Definition}
					do(&c)
					s.revise(c)
					return nil
				}
			}
			return fmt.Errorf("there is no cron %q", a.Name)
		}
	}
	ahead := func(a story.Args) error { s.setClock(a.Time); return nil }
	behind := func(a story.Args) error { s.setClock(-a.Time); return nil }
	away := func(is bool) func(story.Args) error { return func(story.Args) error { s.outage(is); return nil } }
	right := func(story.Args) error { s.setClock(0); return nil }
	return []story.Word{
		{Form: "cron NAME TEXT", What: "a user makes a cron, or changes it: none, latest or all of what is missed is run, and its schedule", Do: s.define},
		{Form: "pause NAME", What: "a user pauses a cron", Do: change(func(c *core.Change) { c.Paused = true })},
		{Form: "resume NAME", What: "a user lets it run again", Do: change(func(c *core.Change) { c.Paused = false })},
		{Form: "retire NAME", What: "a user does away with it", Do: change(func(c *core.Change) { c.Retired = true })},
		{Form: "job NAME", What: "a user adds a job: a command that takes some seconds", Do: s.job(false)},
		{Form: "fenced NAME", What: "a user adds a job whose handler proves its attempt", Do: s.job(true)},
		{Form: "ahead TIME", What: "the database's clock goes so much ahead of the truth", Do: ahead, Undo: right},
		{Form: "behind TIME", What: "the database's clock goes so much behind the truth", Do: behind, Undo: right},
		{Form: "outage", What: "the database is away", Do: away(true), Undo: away(false)},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	count := func(of map[string]int) func(story.Args) (bool, string) {
		return func(a story.Args) (bool, string) { return of[a.Name] == a.Number, fmt.Sprintf("%d are", of[a.Name]) }
	}
	return []story.Fact{
		{Form: "rows NAME NUMBER", What: "so many times of a cron have a row", Holds: count(s.rows)},
		{Form: "begun NAME NUMBER", What: "so many attempts at a job have begun", Holds: func(a story.Args) (bool, string) {
			n := s.begins[s.named[a.Name]]
			return n == a.Number, fmt.Sprintf("%d have", n)
		}},
		{Form: "done NAME", What: "a job is done", Holds: func(a story.Args) (bool, string) {
			j := s.tables.Job(s.named[a.Name])
			return j.State == tables.Over && slices.Contains(j.Outcomes, worker.Done), fmt.Sprintf("it is %s", j.State)
		}},
		{Form: "passed NAME NUMBER", What: "so many times of it are passed over", Holds: count(s.passed)},
	}
}

// job adds a job.
func (s *stage) job(fenced bool) func(story.Args) error {
	return func(a story.Args) error {
		j := tables.Job{Retries: 3, Fenced: fenced}
		s.named[a.Name], _ = s.tables.Add(j, s.now(), s.now(), -1)
		s.wake()
		return nil
	}
}

// define makes or changes a cron, by the words of a line.
func (s *stage) define(a story.Args) error {
	catchUp, schedule, is := strings.Cut(a.Text, " ")
	if !is || !slices.Contains([]string{core.None, core.Latest, core.All}, catchUp) {
		return fmt.Errorf("%q: want none, latest or all, and a schedule", a.Text)
	}
	c := core.Change{Definition: cron(a.Name, schedule, catchUp, core.Allow)}
	for _, l := range s.tables.Living() {
		if l.Name == a.Name {
			c.ID = l.ID
		}
	}
	s.revise(c)
	return nil
}
