package electorate

import (
	"embed"
	"fmt"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// texts are the stories that this world brings along.
//
//go:embed testdata/stories/*.txt
var texts embed.FS

// settings are what stories of elections can say of their world.
func settings(cfg *Config) []story.Setting {
	return []story.Setting{
		story.Count("nodes", "how many nodes campaign; 3 if it is not said", &cfg.Nodes),
		{Form: "lease TIME", What: "how long a leader may act without the database; 1s if it is not said", Set: func(a story.Args) error {
			if cfg.lease = a.Time; a.Time < 500*time.Millisecond || a.Time > time.Minute {
				return fmt.Errorf("a lease of %s: it is 500ms to 1m0s here", a.Time)
			}
			return nil
		}},
		{Form: "takeover NAME", What: "strict, fast or keep; strict if it is not said", Set: func(a story.Args) error { cfg.Takeover = mint.Takeover(a.Name); return cfg.Validate() }},
		{Form: "locks NAME", What: "session or process; session if it is not said", Set: func(a story.Args) error { cfg.Locks = a.Name; return cfg.Validate() }},
		story.Seed(&cfg.Seed),
	}
}

// stage is an election that a story drives: nothing happens but what it says.
type stage struct {
	*run

	broke bool
}

func newStage(cfg Config) world.Stage {
	r := newRun(cfg)
	r.quiet = true
	r.Say = func(who, what string) { r.Tell(r.w.Now(), who, what) }
	for _, n := range r.nodes {
		r.w.After(r.w.Between(0, 10*time.Millisecond), func() {
			if n.running == nil { // the story may be over by then
				n.boot(n.name)
			}
		})
	}
	r.net.Calm(r.places())
	for _, scope := range r.scopes {
		r.callers[scope].call()
	}
	return &stage{run: r}
}

// scope is the one that stories are about.
func (s *stage) scope() string { return s.scopes[0] }

// Step implements story.World. It tells too that an act door opens, or shuts by its own clock, which is no event.
func (s *stage) Step() bool {
	before := s.leads()
	if !s.broke && before != nil { // some rules are broken only once a process leads
		s.broke = true
		s.breakStore()
	}
	more := s.step()
	now := s.leads()
	if before != nil && !before.shut && now != before {
		s.tellsAt(before, before.deadline, "may act no more, by its own clock")
	}
	if now != nil && now != before {
		s.tellsAt(now, now.actFrom, "leads, and may act")
	}
	return more && len(s.Found) == 0
}

// tellsAt tells what the clock of a term's node has brought since the last event.
func (s *stage) tellsAt(t *tenure, at fence.Instant, what string) {
	s.Remark(min(t.p.node.clock.When(int64(at)), s.Now()), t.p.node.name, what)
}

// End implements story.World: no more faults, and the election has to settle.
func (s *stage) End() {
	s.tell("the world", "has no more faults")
	for _, n := range s.nodes {
		for _, p := range n.living() {
			for p.stops > 0 {
				p.thaw()
			}
		}
	}
	s.awaitLeaders()
}

// Node implements story.World.
func (s *stage) Node(name string) story.Node { return s.node(name) }

// Leader implements story.World: the node whose act door is open.
func (s *stage) Leader() string {
	if t := s.leads(); t != nil {
		return t.p.node.name
	}
	return ""
}

func (s *stage) leads() *tenure { return s.doors[s.scope()].leader() }

func (r *run) node(name string) *node {
	for _, n := range r.nodes {
		if n.name == name {
			return n
		}
	}
	return nil
}

// tell writes a line of a story.
func (r *run) tell(who, what string, args ...any) {
	if r.Told() {
		r.Remark(r.w.Now(), who, fmt.Sprintf(what, args...))
	}
}

// tellsOpen tells that a node was elected.
func (r *run) tellsOpen(t *tenure) {
	hold := t.actFrom.Sub(t.p.now())
	if hold <= 0 {
		r.tell(t.p.node.name, "is elected, in epoch %d", t.token.Epoch)
		return
	}
	r.tell(t.p.node.name, "is elected, in epoch %d, and waits %s for the one before it", t.token.Epoch, hold.Round(10*time.Millisecond))
}
