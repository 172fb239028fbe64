package crowd

import (
	"embed"
	"fmt"
	"io"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/sim"
	"github.com/conchhq/conch/cmd/conch/internal/lab/sim/story"
	"github.com/conchhq/conch/gossip"
)

// Stories are those that this world brings along.
//
//go:embed testdata/stories/*.txt
var Stories embed.FS

// Tell plays a story of a crowd, which is written rightly, and writes what happens to out. The configuration says the seed, 0 for the
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

// StoryKind is what stories of crowds can say, for the documentation.
func StoryKind() story.Kind {
	var s *stage
	return kind(&Config{told: &story.Text{}}, &s)
}

// kind is what stories of crowds can say of their world.
func kind(cfg *Config, s **stage) story.Kind {
	cfg.Nodes = 5
	return story.Kind{
		Settings: []story.Setting{
			story.Count("nodes", "how many nodes; 5 if it is not said", &cfg.Nodes),
			story.Count("electors", "how many of them may lead, the first ones; all if it is not said", &cfg.Electors),
			story.Count("loss", "how many of a hundred messages are lost", &cfg.Loss),
			{Form: "policy NAME", What: "by which a leader is named, " + gossip.Reign + " or " + gossip.Paper, Set: func(a story.Args) error { cfg.Policy = a.Name; return nil }},
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

// stage is a crowd that a story drives: nothing happens but what it says.
type stage struct{ r *run }

// newStage begins where the overlay is there.
func newStage(cfg Config) *stage {
	r := newRun(cfg)
	r.scene = &scene{}
	r.begin()
	return &stage{r}
}

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.r.now() }

// After implements story.World.
func (s *stage) After(wait time.Duration, do func()) { s.r.w.After(wait, do) }

// Step implements story.World.
func (s *stage) Step() bool { return s.r.w.Step() && len(s.r.found) == 0 }

// Violated implements story.World.
func (s *stage) Violated(invariant, detail string) { s.r.check(false, invariant, "%s", detail) }

// End implements story.World: no more faults, and all have to agree. Policy paper promises nothing.
func (s *stage) End() {
	r := s.r
	if r.cfg.Policy != gossip.Paper {
		r.calm()
		for end := r.w.Now() + r.settles() + 20*round; r.w.Now() < end && s.Step(); {
		}
	}
	r.conclude()
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

// Leader implements story.World: of those that lead by their own word, and run, the one in the highest reign.
func (s *stage) Leader() string {
	if l := s.leads(); l != nil {
		return l.name
	}
	return ""
}

func (s *stage) leads() (most *node) {
	for _, n := range s.r.nodes {
		if n.believes.Self && n.up && !n.paused && (most == nil || n.believes.Reign > most.believes.Reign) {
			most = n
		}
	}
	return most
}

// running returns a node that runs, or an error.
func (s *stage) running(name string) (*node, error) {
	n := s.r.byName[name]
	if !n.up {
		return nil, fmt.Errorf("%s does not run", name)
	}
	return n, nil
}
