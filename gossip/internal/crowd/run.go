package crowd

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
	"github.com/conchhq/conch/internal/world"
)

const (
	// heals is within how many seconds the overlay is in one piece again, whatever has happened.
	heals = 60
	// skew is how wrong clocks are at most, in parts of a hundred.
	skew = 20
)

// run is one crowd in its world.
type run struct {
	world.Run

	cfg       Config
	scene     *scene // nil: every fault
	w         *world.World
	nodes     []*node
	contacts  []*node
	second    time.Duration // of the overlay, and of connections
	grows     bool          // the overlay, before the crowd begins: nothing is lost
	begun     time.Duration // when the crowd began
	dialled   uint64
	byName    map[string]*node
	bySubject map[wire.Subject]*node
	oneWay    map[[2]*node]bool
	quiet     bool          // the faults are over
	withdrawn bool          // a user has withdrawn its node
	calmed    time.Duration // when the faults ended; 0: not yet, or there are none

	judge
	noise
	refusals map[error][]*node
	news     map[string]time.Duration // by topic: when it was published
}

// Run runs a crowd and returns its report. The configuration must be valid.
func Run(cfg Config) world.Report {
	cfg = cfg.WithDefaults()
	r := newRun(cfg)
	r.begin()
	end := time.Duration(cfg.Rounds) * round
	if r.scene == nil {
		r.at(20, r.fault)
		r.w.After(end, r.calm)
		end += r.settles() + 20*round
	} else {
		r.scene.Plot.set(r)
	}
	r.Until(r.begun+end, nil)
	r.conclude()
	return r.Report()
}

// Report says what came of it.
func (r *run) Report() world.Report {
	r.Stats["steps"] = int64(r.w.Steps())
	return r.Run.Report()
}

// begin has all nodes begin within one round: where the overlay is, or with it.
func (r *run) begin() {
	boots := r.scene != nil && r.scene.Plot.boots
	if !boots {
		r.gather()
	}
	r.begun = r.w.Now()
	r.last, r.since, r.asked = r.begun, r.begun, r.begun
	for _, n := range r.nodes {
		r.w.After(r.w.Between(0, round), func() {
			if boots {
				n.joins()
			}
			n.begin()
		})
	}
}

// figures are in each report, also where they are 0.
var figures = [...]string{
	"agreements", "agreement_tenths", "agreement_tenths_max", "reigns", "needless_reigns", "stalled_reigns", "changes",
	"without_leader_tenths", "two_leaders_tenths", "two_named_tenths_max", "two_named_crowd_tenths_max", "agreed_tenths", "messages", "bytes", "overlay_bytes", "dials", "crowd_ticks",
}

func newRun(cfg Config) *run {
	if cfg.Nodes > 20 { // nobody reads every line
		cfg.Story = nil
	}
	all := Simulator()
	begun := all.Begin(cfg)
	w := begun.World()
	r := &run{
		Run: begun, cfg: cfg, scene: all.Scene(cfg.Scene), w: w, byName: map[string]*node{}, bySubject: map[wire.Subject]*node{},
		oneWay: map[[2]*node]bool{}, refusals: map[error][]*node{},
		news: map[string]time.Duration{}, judge: newJudge(),
	}
	for i, name := range r.Names {
		n := &node{r: r, index: i, name: name, elector: i < cfg.Electors, troubled: -never, senior: w.Draw() >> 60}
		n.subject = wire.Subject{byte(w.Draw()), byte(i >> 8), byte(i), 1}
		ppm := int64(w.Pick(2*skew*10_000+1) - skew*10_000)
		if r.open() {
			ppm = 9_000_000 + 10*ppm // ten times as fast
		}
		n.clock = w.NewClock(int64(w.Between(time.Hour, 20*time.Hour)), ppm)
		r.nodes, r.byName[n.name], r.bySubject[n.subject] = append(r.nodes, n), n, n
	}
	for _, name := range figures {
		r.Stats[name] = 0
	}
	r.contacts = r.nodes[min(cfg.Electors, max(cfg.Nodes-cfg.Contacts, 0)):]
	r.contacts = r.contacts[:min(cfg.Contacts, len(r.contacts))]
	r.second = 10 * round
	if r.open() {
		r.second = round
	}
	return r
}

// open reports whether everybody may lead. Then a round of this world is one of the machine's beats, which is a second by the clock of
// each node: clocks run ten times as fast as time.
func (r *run) open() bool { return r.cfg.Electors == 0 && r.cfg.Policy != hint.Paper }

// never is longer than any run.
const never = 1000 * time.Hour

// valid is how long a heartbeat counts for the slowest clock.
func (r *run) valid() time.Duration {
	return time.Duration(2*r.cfg.Diameter) * round * 100 / (100 - skew)
}

// settles is how long a crowd may take to agree, whatever the faults have left behind: a leader may be out of date, and
// all those who could follow it stand back.
func (r *run) settles() time.Duration { return heals*r.second + r.valid()*3 + 10*round }

// now is how long ago the crowd began.
func (r *run) now() time.Duration { return r.w.Now() - r.begun }

// tell writes a line of the story.
func (r *run) tell(n *node, text string, args ...any) {
	name := "the world"
	if n != nil {
		name = n.name
	}
	what := fmt.Sprintf(text, args...)
	r.Tell(r.now(), name, what)
}

// leader returns the living node that leads in the highest reign by its own word, or nil.
func (r *run) leader() *node {
	var most *node
	for _, n := range r.nodes {
		if n.believes.Self && n.up && (most == nil || n.believes.Reign > most.believes.Reign) {
			most = n
		}
	}
	return most
}

func (r *run) at(rounds float64, f func()) {
	r.w.After(time.Duration(rounds*float64(round))-r.now(), f)
}

// heard judges news: each piece comes once.
func (r *run) heard(n *node, a hint.Heard) {
	key := n.name + " " + a.Topic + " " + string(a.Body)
	r.Check(!r.seen[key], OnceHeard, "%s hears %q twice", n.name, a.Body)
	r.seen[key] = true
	if r.cfg.Telling.On() {
		r.tell(n, "hears %q", a.Body)
	}
	r.Stats["news_heard"]++
	r.Stats["news_ms_max"] = max(r.Stats["news_ms_max"], (r.w.Now() - r.news[a.Topic]).Milliseconds())
}
