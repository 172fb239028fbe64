package firehouse

import (
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

func settings(cfg *Config) []story.Setting {
	return []story.Setting{story.Count("nodes", "how many nodes; 3 if it is not said", &cfg.Nodes), story.Seed(&cfg.Seed)}
}

// stage is a firehouse that a story drives: nothing happens but what it says.
type stage struct{ *run }

func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.Say = func(who, what string) { r.Tell(r.W.Now(), who, what) }
	for _, n := range r.nodes {
		n.Start()
	}
	return &stage{r}
}

// End implements story.World: twenty minutes without a fault.
func (s *stage) End() {
	s.ends()
	s.Until(s.W.Now()+20*time.Minute, nil)
	s.conclude()
}

// Words implements story.World.
func (s *stage) Words() []story.Word {
	turn := func(is bool) func(story.Args) error {
		return s.on(func(c *condition) { s.set(c, is) })
	}
	hide := func(is bool) func(story.Args) error {
		return s.on(func(c *condition) { s.hide(c.rule, is) })
	}
	return append([]story.Word{
		{Form: "begins NAME", What: "something is wrong: disk-a, disk-b, disk-c, queue-x, queue-y or extra", Do: turn(true), Undo: turn(false)},
		{Form: "ends NAME", What: "it is over", Do: turn(false), Undo: turn(true)},
		{Form: "hide NAME", What: "nobody has data of it, nor of others of its rule", Do: hide(true), Undo: hide(false)},
		{Form: "silence NAME", What: "a user silences its rule", Do: s.silences, Undo: s.unsilences},
		{Form: "late TIME", What: "the next message to the pager takes so long", Do: func(a story.Args) error { s.delay = a.Time; return nil }},
	}, s.Site.Words()...)
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	incident := func(want bool) func(story.Args) (bool, string) {
		return func(a story.Args) (bool, string) {
			c := s.condition(a.Name)
			if c == nil {
				return false, fmt.Sprintf("there is no %q", a.Name)
			}
			return s.open[c.key] == want, map[bool]string{true: "it is open", false: "none is"}[s.open[c.key]]
		}
	}
	return []story.Fact{
		{Form: "incident NAME", What: "an incident is open of it", Holds: incident(true)},
		{Form: "no-incident NAME", What: "none is", Holds: incident(false)},
		{Form: "texts NUMBER", What: "so many texts have come", Holds: func(a story.Args) (bool, string) {
			return s.Stats["texts"] == int64(a.Number), fmt.Sprintf("%d have", s.Stats["texts"])
		}},
	}
}

func (s *stage) condition(name string) *condition {
	if i := slices.IndexFunc(s.conditions, func(c *condition) bool { return c.name == name }); i >= 0 {
		return s.conditions[i]
	}
	return nil
}

// on does something with the condition of a line.
func (s *stage) on(do func(*condition)) func(story.Args) error {
	return func(a story.Args) error {
		c := s.condition(a.Name)
		if c == nil {
			return fmt.Errorf("there is no %q", a.Name)
		}
		do(c)
		return nil
	}
}

func (s *stage) silences(a story.Args) error {
	c := s.condition(a.Name)
	switch {
	case c == nil:
		return fmt.Errorf("there is no %q", a.Name)
	case s.Away:
		return errors.New("the database is away")
	}
	s.tables.Silence(core.Silence{ID: c.rule, Matchers: []core.Matcher{{Label: "alertname", Op: "=", Value: c.rule}}, Since: s.Clock(), Until: s.Clock().Add(24 * time.Hour)})
	s.mute("%s is silenced", c.rule)
	return nil
}

func (s *stage) unsilences(a story.Args) error {
	return s.on(func(c *condition) {
		s.tables.Unsilence(c.rule, s.Clock())
		s.mute("the silence of %s is ended", c.rule)
	})(a)
}
