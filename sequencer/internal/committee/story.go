package committee

import (
	"embed"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// texts are the stories that this world brings along: those that document 002 describes, message by message.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// settings are what stories of committees can say of their world. Without a length of its ranges a story has one range.
func settings(cfg *Config) []story.Setting {
	cfg.Nodes, cfg.Range = 4, 1000
	return []story.Setting{
		story.Count("nodes", "how many organisations; 4 if it is not said", &cfg.Nodes),
		story.Count("needed", "how many endorsements an attempt needs; a majority if it is not said", &cfg.Needed),
		{Form: "range NUMBER", What: "for how many blocks the ranking stays the same; 1000 if it is not said", Set: func(a story.Args) error { cfg.Range = uint64(a.Number); return nil }},
		{Form: "policy NAME", What: "by which the committee is ranked", Set: func(a story.Args) error { cfg.Policy = a.Name; return nil }},
		story.Seed(&cfg.Seed),
	}
}

// stage is a committee that a story drives: nothing happens but what it says.
type stage struct{ *run }

func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.Say = func(who, what string) { r.tell(who, "%s", what) }
	r.begin()
	return &stage{r}
}

// Step implements story.World. What a node says is told before the next line of the story is.
func (s *stage) Step() bool {
	more := s.w.Step()
	s.words.flush()
	return more && len(s.Found) == 0
}

// End implements story.World: no more faults, every intent has to end, and then nothing is said any more.
func (s *stage) End() {
	r := s.run
	r.chain.frozen = ""
	for _, n := range r.nodes {
		n.slow, n.stay = 0, false
	}
	r.calm()
	r.cfg.Faults = r.w.Now()
	r.until(r.w.Now() + endsWithin)
	r.words.flush()
	r.judgeWhole()
}

// Node implements story.World.
func (s *stage) Node(name string) story.Node { return s.node(name) }

// Leader implements story.World: the node that the ranking names, if it runs.
func (s *stage) Leader() string {
	n := s.byAccount[ledger.Account(s.committee.Order(s.inRange(0))[0])]
	if !n.up {
		return ""
	}
	return n.name
}

// inRange is the range of the final block, or of one some blocks later.
func (s *stage) inRange(later uint64) ranking.Range {
	return s.committee.RangeOf(s.chain.final.Number() + later)
}

// node returns a node by its name.
func (s *stage) node(name string) *node { return s.byAccount[ledger.Account(name)] }
