package committee

import (
	"embed"
	"fmt"
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ranking"
)

// texts are the stories that this world brings along: those that document 002 describes, message by message.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// kind is what stories of committees can say of their world. Without a length of its ranges a story has one range.
func kind(cfg *Config) story.Kind {
	blocks := 1000
	cfg.Nodes = 4
	return story.Kind{
		Settings: []story.Setting{
			story.Count("nodes", "how many organisations; 4 if it is not said", &cfg.Nodes),
			story.Count("needed", "how many endorsements an attempt needs; a majority if it is not said", &cfg.Needed),
			story.Count("range", "for how many blocks the ranking stays the same; 1000 if it is not said", &blocks),
			{Form: "policy NAME", What: "by which the committee is ranked", Set: func(a story.Args) error { cfg.Policy = a.Name; return nil }},
			story.Seed(&cfg.Seed),
		},
		Begin: func() (story.World, error) {
			cfg.Range = uint64(blocks)
			*cfg = cfg.WithDefaults()
			if err := cfg.Validate(); err != nil {
				return nil, err
			}
			r := newRun(*cfg)
			r.Say = func(who, what string) { r.tell(who, "%s", what) }
			r.begin()
			return &stage{r}, nil
		},
	}
}

// stage is a committee that a story drives: nothing happens but what it says.
type stage struct{ r *run }

// Now implements story.World.
func (s *stage) Now() time.Duration { return s.r.w.Now() }

// After implements story.World.
func (s *stage) After(wait time.Duration, do func()) { s.r.w.After(wait, do) }

// Step implements story.World. What a node says is told before the next line of the story is.
func (s *stage) Step() bool {
	more := s.r.w.Step()
	s.r.words.flush()
	return more && len(s.r.Found) == 0
}

// Report is what came of it.
func (s *stage) Report() world.Report { return s.r.report() }

// Violated implements story.World.
func (s *stage) Violated(invariant, detail string) { s.r.Check(false, invariant, "%s", detail) }

// End implements story.World: no more faults, every intent has to end, and then nothing is said any more.
func (s *stage) End() {
	r := s.r
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

// Nodes implements story.World.
func (s *stage) Nodes() (names []string) {
	for _, n := range s.r.nodes {
		names = append(names, n.name)
	}
	return names
}

// Places implements story.World.
func (s *stage) Places() []string { return nil }

// Leader implements story.World: the node that the ranking names, if it runs.
func (s *stage) Leader() string {
	n := s.r.byAccount[ledger.Account(s.r.committee.Order(s.inRange(0))[0])]
	if !n.up {
		return ""
	}
	return n.name
}

// inRange is the range of the final block, or of one some blocks later.
func (s *stage) inRange(later uint64) ranking.Range {
	return s.r.committee.RangeOf(s.r.chain.final.Number() + later)
}

// node returns a node by its name.
func (s *stage) node(name string) *node { return s.r.byAccount[ledger.Account(name)] }

// running returns a node that runs, or an error.
func (s *stage) running(name string) (*node, error) {
	n := s.node(name)
	if !n.up {
		return nil, fmt.Errorf("%s does not run", name)
	}
	return n, nil
}
