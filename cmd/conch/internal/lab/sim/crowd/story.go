package crowd

import (
	"embed"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// settings are what stories of crowds can say of their world.
func settings(cfg *Config) []story.Setting {
	cfg.Nodes = 5
	return []story.Setting{
		story.Count("nodes", "how many nodes; 5 if it is not said", &cfg.Nodes),
		story.Count("electors", "how many of them may lead, the first ones; all if it is not said", &cfg.Electors),
		story.Count("loss", "how many of a hundred messages are lost", &cfg.Loss),
		{Form: "policy NAME", What: "by which a leader is named, " + gossip.Reign + " or " + gossip.Paper, Set: func(a story.Args) error { cfg.Policy = a.Name; return nil }},
		story.Seed(&cfg.Seed),
	}
}

// stage is a crowd that a story drives: nothing happens but what it says.
type stage struct{ *run }

// newStage begins where the overlay is there.
func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.scene = &scene{}
	r.Say = func(who, what string) { r.Tell(r.now(), who, what) }
	r.begin()
	return &stage{r}
}

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.now() }

// End implements story.World: no more faults, and all have to agree. Policy paper promises nothing.
func (s *stage) End() {
	r := s.run
	if r.cfg.Policy != gossip.Paper {
		r.calm()
		end := r.w.Now() + r.settles() + 20*round
		for more := true; more && r.w.Now() < end; {
			more = s.Step()
		}
	}
	r.conclude()
}

// Node implements story.World.
func (s *stage) Node(name string) story.Node { return s.byName[name] }

// Leader implements story.World: of those that lead by their own word, and run, the one in the highest reign.
func (s *stage) Leader() string {
	if l := s.leads(); l != nil {
		return l.name
	}
	return ""
}

func (s *stage) leads() (most *node) {
	for _, n := range s.nodes {
		if n.believes.Self && n.up && !n.paused && (most == nil || n.believes.Reign > most.believes.Reign) {
			most = n
		}
	}
	return most
}
