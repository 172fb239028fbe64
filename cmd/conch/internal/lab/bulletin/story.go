package bulletin

import (
	"embed"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// kind is what stories of logs can say of their world.
func kind(cfg *Config) story.Kind {
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
			return newStage(*cfg), nil
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
	r.scene = &scene{Story: true}
	r.begin()
	return &stage{r: r}
}

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.r.w.Now() }

// After implements story.World.
func (s *stage) After(wait time.Duration, do func()) { s.r.w.After(wait, do) }

// Step implements story.World.
func (s *stage) Step() bool { return s.r.w.Step() && len(s.r.Found) == 0 }

// Report is what came of it.
func (s *stage) Report() world.Report { return s.r.report() }

// Violated implements story.World.
func (s *stage) Violated(invariant, detail string) { s.r.Check(false, invariant, "%s", detail) }

// End implements story.World: no more faults, one goal if there was none, and all copies have to become equal.
func (s *stage) End() {
	r := s.r
	r.calm()
	if r.Stats["goals"] == 0 {
		s.client().asks(r.nodes[0], putGoal(keys[0], 1), "")
	}
	r.Until(r.w.Now()+settles, func() bool { return r.over && r.settled() })
	if len(r.Found) == 0 {
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
