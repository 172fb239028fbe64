package logworld

import (
	"embed"
	"fmt"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// settings are what stories of logs can say of their world.
func settings(cfg *Config) []story.Setting {
	cfg.Nodes, cfg.Clients = 3, 1
	return []story.Setting{
		story.Count("nodes", "how many nodes; 3 if it is not said", &cfg.Nodes),
		story.Count("members", "how many of them decide, the first ones; all up to 5 if it is not said", &cfg.Members),
		{Form: "machine NAME", What: "what the goals are of: " + cfg.machineNames() + "; kv if it is not said", Set: func(a story.Args) error { cfg.Machine = a.Name; return nil }},
		story.Count("loss", "how many of a hundred messages are lost", &cfg.Loss),
		story.Seed(&cfg.Seed),
	}
}

// stage is a log that a story drives: nothing happens but what it says.
type stage struct {
	*run

	asked []*ask // by its lines
}

func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.scene = &scene{Story: true}
	r.begin()
	return &stage{run: r}
}

// End implements story.World: no more faults, one goal if there was none, and all copies have to become equal.
func (s *stage) End() {
	r := s.run
	r.calm()
	if r.Stats["goals"] == 0 {
		s.client().asks(r.nodes[0], r.machine.Put(keys[0], 1), "")
	}
	r.Until(r.w.Now()+settles, func() bool { return r.over && r.settled() })
	if len(r.Found) == 0 {
		r.conclude()
	}
}

// Node implements story.World.
func (s *stage) Node(name string) story.Node { return s.byName[name] }

// Leader implements story.World.
func (s *stage) Leader() string {
	if l := s.leader(); l != nil {
		return l.name
	}
	return ""
}

// client returns one that waits for nothing.
func (s *stage) client() *client {
	r := s.run
	for _, c := range r.clients {
		if c.now == nil || c.now.done && !c.hidden {
			return c
		}
	}
	c := &client{r: r, name: fmt.Sprintf("c%d", len(r.clients)+1), home: r.nodes[0], told: true}
	r.clients = append(r.clients, c)
	return c
}
