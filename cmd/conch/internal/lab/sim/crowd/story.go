package crowd

import (
	"embed"
	"fmt"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// kind is what stories of crowds can say of their world.
func kind(cfg *Config) story.Kind {
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
			return newStage(*cfg), nil
		},
	}
}

// stage is a crowd that a story drives: nothing happens but what it says.
type stage struct{ r *run }

// newStage begins where the overlay is there.
func newStage(cfg Config) *stage {
	r := newRun(cfg)
	r.scene = &scene{}
	r.Say = func(who, what string) { r.Tell(r.now(), who, what) }
	r.begin()
	return &stage{r}
}

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.r.now() }

// After implements story.World.
func (s *stage) After(wait time.Duration, do func()) { s.r.w.After(wait, do) }

// Step implements story.World.
func (s *stage) Step() bool { return s.r.w.Step() && len(s.r.Found) == 0 }

// Report is what came of it.
func (s *stage) Report() world.Report { return s.r.report() }

// Violated implements story.World.
func (s *stage) Violated(invariant, detail string) { s.r.Check(false, invariant, "%s", detail) }

// End implements story.World: no more faults, and all have to agree. Policy paper promises nothing.
func (s *stage) End() {
	r := s.r
	if r.cfg.Policy != gossip.Paper {
		r.calm()
		end := r.w.Now() + r.settles() + 20*round
		for more := true; more && r.w.Now() < end; {
			more = s.Step()
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
