package bulletin

import (
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
)

// Stories are those that this world brings along.
//
//go:embed testdata/stories/*.txt
var Stories embed.FS

// Tell plays a story of a log, which is written rightly, and writes what happens to out. The configuration says the seed, 0 for the
// story's, and the broken rule; the story says the rest.
func Tell(cfg Config, text story.Text, out io.Writer) sim.Report {
	var s *stage
	cfg.told, cfg.Story = &text, out
	if _, err := story.Play(text, kind(&cfg, &s), out); err != nil {
		return sim.Report{Violations: []sim.Violation{{Invariant: story.Expected, Detail: err.Error()}}}
	}
	return s.r.report()
}

// AboutStory returns the seed and the number of nodes of a story, or what is wrong with how it is written.
func AboutStory(cfg Config, text story.Text) (sim.Report, error) {
	var s *stage
	cfg.told = &text
	err := story.Check(text, kind(&cfg, &s))
	return sim.Report{Seed: cfg.Seed, Nodes: cfg.Nodes}, err
}

// StoryKind is what stories of logs can say, for the documentation.
func StoryKind() story.Kind {
	var s *stage
	return kind(&Config{told: &story.Text{}}, &s)
}

// kind is what stories of logs can say of their world.
func kind(cfg *Config, s **stage) story.Kind {
	cfg.Nodes, cfg.Clients = 3, 1
	return story.Kind{
		Settings: []story.Setting{
			story.Count("nodes", "how many nodes; 3 if it is not said", &cfg.Nodes),
			story.Count("members", "how many of them decide, the first ones; all up to 5 if it is not said", &cfg.Members),
			story.Count("loss", "how many of a hundred messages are lost", &cfg.Loss),
			story.Seed(&cfg.Seed),
		},
		Begin: func() (story.World, error) {
			*cfg = cfg.WithDefaults()
			if err := cfg.Validate(); err != nil {
				return nil, err
			}
			*s = newStage(*cfg)
			return *s, nil
		},
	}
}

// stage is a log that a story drives: nothing happens but what it says.
type stage struct {
	r    *run
	asks []*ask
}

func newStage(cfg Config) *stage {
	r := newRun(cfg)
	r.scene = &scene{story: true}
	r.begin()
	return &stage{r: r}
}

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.r.w.Now() }

// After implements story.World.
func (s *stage) After(wait time.Duration, do func()) { s.r.w.After(wait, do) }

// Step implements story.World.
func (s *stage) Step() bool { return s.r.w.Step() && len(s.r.found) == 0 }

// Violated implements story.World.
func (s *stage) Violated(invariant, detail string) { s.r.check(false, invariant, "%s", detail) }

// End implements story.World: no more faults, one goal if there was none, and all copies have to become equal.
func (s *stage) End() {
	r := s.r
	r.calm()
	if r.stats["goals"] == 0 {
		s.client().asks(r.nodes[0], putGoal(keys[0], 1), "")
	}
	r.until(r.w.Now() + settles)
	if len(r.found) == 0 {
		r.conclude()
	}
}

// Nodes implements story.World.
func (s *stage) Nodes() (names []string) {
	for _, n := range s.r.nodes {
		names = append(names, n.name)
	}
	return names
}

// Places implements story.World.
func (s *stage) Places() []string { return nil }

// Leader implements story.World.
func (s *stage) Leader() string {
	if l := s.r.leader(); l != nil {
		return l.name
	}
	return ""
}

// client returns one that waits for nothing.
func (s *stage) client() *client {
	r := s.r
	for _, c := range r.clients {
		if c.now == nil || c.now.done && !c.hidden {
			return c
		}
	}
	c := &client{r: r, name: fmt.Sprintf("c%d", len(r.clients)+1), home: r.nodes[0], told: true}
	r.clients = append(r.clients, c)
	return c
}

// running returns a node that runs, or an error.
func (s *stage) running(name string) (*node, error) {
	n := s.r.byName[name]
	if !n.up || n.process == nil {
		return nil, fmt.Errorf("%s does not run", name)
	}
	return n, nil
}
