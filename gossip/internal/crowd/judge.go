package crowd

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// The invariants.
const (
	Agreement  = "agreement"   // after the faults all believe in one leader, which leads
	NoNeedless = "no-needless" // no reign is raised, and no leader deposed, while one works that can be heard
	OneOfMany  = "one-leader"  // with electors never two are believed in for longer than a validity
	OnceHeard  = "once-heard"  // news comes once at most
	PassedOnce = "passed-once" // a node passes a heartbeat on once at most
	NoStorm    = "no-storm"    // whatever happens and whoever says what, there are not many more messages than at rest
	WellFormed = "well-formed" // what is sent can be read
	BadRefused = "bad-refused" // what is wrong is refused and named, and nobody believes it
	OnePiece   = "one-piece"   // once the overlay had time to heal, the living nodes are in one piece
	AllHear    = "all-hear"    // news comes to everybody
)

// judge follows what the nodes believe.
type judge struct {
	counts  map[wire.Subject]int // in whom how many nodes in service believe
	active  int                  // nodes in service
	leaders []*node              // that have led
	last    time.Duration        // when all this changed last
	agreed  bool
	since   time.Duration // agreed, or not
	asked   time.Duration // the instant from which the next agreement is measured; below 0: none is
	named   [2]named      // in whom electors believe, and in whom anybody does
	top     uint64
	seen    map[string]bool

	without, twice, together time.Duration // nobody led, several led, all agreed
}

func newJudge() judge {
	return judge{counts: map[wire.Subject]int{}, named: newNamed(), seen: map[string]bool{}}
}

// serves says whether a node is in service: up, and within reach of the others. Only then its view counts.
func (r *run) serves(n *node, is bool) {
	if n.serves == is {
		return
	}
	r.pass()
	n.serves = is
	by := 1
	if n.back = r.w.Now(); !is {
		by = -1
		n.out = r.w.Now()
	}
	r.active += by
	r.counts[n.believes.Leader] += by
	r.look()
}

// suggested takes what a node believes now.
func (r *run) suggested(n *node, s hint.Suggestion) {
	r.pass()
	old := n.believes
	n.believes = s
	if n.serves {
		r.counts[old.Leader]--
		r.counts[s.Leader]++
	}
	r.Stats["changes"]++
	if s.Self && (!old.Self || s.Reign > old.Reign) {
		r.raised(n, s)
	}
	if r.Told() {
		r.tell(n, "%s", r.view(s))
	}
	r.w.Note(n.name, "suggests", int64(s.Reign))
	r.look()
}

// leads counts the nodes that lead in their own view.
func (r *run) leads() (n int) {
	for _, l := range r.leaders {
		if l.up && !l.paused && l.believes.Self {
			n++
		}
	}
	return n
}

func (r *run) view(s hint.Suggestion) string {
	switch leader := r.bySubject[s.Leader]; {
	case s.Self && s.Reign == 0 && r.cfg.Policy != hint.Paper:
		return "leads, since it hears nobody"
	case s.Self:
		return "leads" + r.inReign(s)
	case leader == nil:
		return "knows of no leader"
	default:
		return "follows " + leader.name + r.inReign(s)
	}
}

// pass adds the time since the last change to what it belongs to.
func (r *run) pass() {
	d := r.w.Now() - r.last
	r.last = r.w.Now()
	switch leading := r.leads(); {
	case leading == 0:
		r.without += d
	case leading > 1:
		r.twice += d
	}
	if r.agreed {
		r.together += d
	}
}

// look notes whether all agree, and whether two lead.
func (r *run) look() {
	agreed := false
	for subject, n := range r.counts {
		if n > 0 && n == r.active && subject != (wire.Subject{}) {
			l := r.bySubject[subject]
			agreed = l != nil && l.serves && l.believes.Self
		}
	}
	if agreed != r.agreed {
		r.agreed, r.since = agreed, r.w.Now()
	}
	if agreed && r.asked >= 0 {
		took := r.w.Now() - r.asked
		r.asked = -1
		r.Stats["agreements"]++
		r.Stats["agreement_tenths_max"] = max(r.Stats["agreement_tenths_max"], int64(10*rounds(took)))
		r.Stats["agreement_tenths"] += int64(10 * rounds(took))
	}
	r.lookAtNames()
}

// raised judges a node that begins to lead. It has a cause unless another one leads that can be heard. That the node
// itself was cut off is no cause with electors, whose majority has to hear it; and once it is back it is none at all.
func (r *run) raised(n *node, s hint.Suggestion) {
	if !slices.Contains(r.leaders, n) {
		r.leaders = append(r.leaders, n)
	}
	n.led = r.w.Now()
	if s.Reign > r.top {
		r.top = s.Reign
		r.Stats["reigns"]++
	}
	if r.cfg.Policy == hint.Paper || s.Reign == 0 || !n.serves && r.cfg.Electors == 0 {
		return
	}
	for _, l := range r.leaders {
		if l == n || !l.believes.Self || l.believes.Reign > s.Reign || !r.works(l) || !r.reaches(l, n) {
			continue
		}
		r.Stats["needless_reigns"]++
		switch {
		case r.scene != nil && r.scene.Plot.deposes:
		case r.comes(l, n):
			r.Check(false, NoNeedless, "%s raises reign %d while %s leads in reign %d", n.name, s.Reign, l.name, l.believes.Reign)
		default:
			r.Stats["stalled_reigns"]++
		}
		return
	}
}

// works reports whether a leader is in service, and was for as long as it takes that all know it.
func (r *run) works(l *node) bool {
	return l.serves && r.w.Now()-max(l.troubled, l.led) >= known
}

// conclude looks at the whole, once all should be over.
func (r *run) conclude() {
	r.pass()
	for _, n := range r.nodes {
		r.Check(n.core.Counts().Unsent == 0, WellFormed, "%s has not sent what nobody would read", n.name)
	}
	r.measure()
	r.named[0].ends(r)
	r.named[1].ends(r)
	r.Stats["virtual_rounds"] = int64(rounds(r.now()))
	r.Stats["without_leader_tenths"], r.Stats["two_leaders_tenths"] = int64(10*rounds(r.without)), int64(10*rounds(r.twice))
	r.Stats["agreed_tenths"] = int64(10 * rounds(r.together))
	r.Stats["bytes_per_node_round_max"] = int64(float64(r.Stats["bytes"]) / rounds(r.now()) / float64(r.cfg.Nodes))
	if r.cfg.Policy == hint.Paper {
		return // it is measured, and promises nothing
	}
	if r.scene != nil && r.scene.Plot.unsettled {
		return
	}
	if r.cfg.Stalls && r.cfg.Loss > 0 && r.calmed > 0 { // a node whose connections all stall names nobody for that time
		late := r.w.Now() - r.since
		r.Check(r.asked < 0 && (r.agreed || late < stalled), Agreement, "all have not agreed for %.1f rounds: at the end %s", rounds(late), r.split())
		return
	}
	r.Check(r.agreed, Agreement, "at the end %s", r.split())
	if r.agreed && r.calmed > 0 {
		r.Check(r.since < r.calmed+r.settles(), Agreement, "all agree only %.1f rounds after the last fault", rounds(r.since-r.calmed))
	}
}

// stalled is for how long all may not agree where connections stall. A connection stalls for two rounds, and six, and fourteen, and thirty.
const stalled = 30 * round

// split says in how many ways the nodes do not agree.
func (r *run) split() string {
	var most wire.Subject
	for subject, n := range r.counts {
		if n > r.counts[most] || n == r.counts[most] && slices.Compare(subject[:], most[:]) > 0 {
			most = subject
		}
	}
	text := fmt.Sprintf("%d of %d nodes name ", r.counts[most], r.active)
	switch l := r.bySubject[most]; {
	case l == nil:
		return text + "nobody"
	case !l.up:
		return text + l.name + ", which is dead"
	case !l.believes.Self:
		return text + l.name + ", which does not lead"
	default:
		return text + l.name
	}
}

func (r *run) inReign(s hint.Suggestion) string {
	if r.cfg.Policy == hint.Paper {
		return ""
	}
	return fmt.Sprintf(", reign %d", s.Reign)
}
