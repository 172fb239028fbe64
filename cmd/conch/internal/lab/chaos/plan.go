package chaos

import (
	"fmt"
	"math/rand/v2"

	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
)

// Target says which machines a fault is for. They are chosen when the fault begins.
type Target string

// The targets.
const (
	Leader     Target = "leader"    // the machine that wrote to the ledger last
	Supervisor Target = "run"       // the machine whose child wrote last
	Follower   Target = "follower"  // a machine that did neither
	Leaders    Target = "leaders"   // every machine that leads something, according to the database
	Everybody  Target = "everybody" // all machines, or the database
)

// Fault is one entry of a plan.
type Fault struct {
	Kind   Kind
	Target Target
	// Leases is its duration in leases.
	Leases float64
	// Pick chooses between equivalent machines.
	Pick int
	// Joined faults begin while the previous fault is on.
	Joined bool
}

func (f Fault) String() string {
	text := string(f.Kind)
	if f.Target != Everybody {
		text += " of the " + string(f.Target)
	}
	if f.Leases > 0 {
		text += fmt.Sprintf(" for %.1f leases", f.Leases)
	}
	if f.Joined {
		text = "meanwhile " + text
	}
	return text
}

// joinOne is the target share: one fault in joinOne is joined. Twice as many are drawn for it,
// since not every pair agrees.
const joinOne = 6

// Plan makes n faults of the given kinds: first each kind once, in a random order, then any by
// weight. It is pure: equal arguments give equal plans.
func Plan(seed uint64, n int, kinds []Kind) []Fault {
	if len(kinds) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a plan must follow from its seed
	deck := stage.NewDeck(r, kinds, func(k Kind) int { t, _ := traitOf(k); return max(t.weight, 1) })
	plan := make([]Fault, 0, n)
	for i := range n {
		kind := deck.Deal()
		f := draw(r, kind)
		join := r.IntN(joinOne) < 2 // not every pair agrees
		if join && i > 0 && !plan[i-1].Joined && agree(plan[i-1].Kind, kind) {
			f.Joined = true
		}
		plan = append(plan, f)
	}
	return plan
}

// draw fills in a fault. Leaders are hit more often than followers, whose faults mostly have no
// effect.
func draw(r *rand.Rand, kind Kind) Fault {
	t, _ := traitOf(kind)
	f := Fault{Kind: kind, Target: Everybody, Leases: t.least + r.Float64()*(t.most-t.least), Pick: r.IntN(1 << 16)}
	dice := r.IntN(20)
	if t.place != machine && t.place != line {
		return f
	}
	switch {
	case kind == Backend, kind == Deaf && dice < 19: // only a leader has a session to be ended
		f.Target = Leaders
	case dice < 11:
		f.Target = Leader
	case dice < 16:
		f.Target = Supervisor
	case dice < 19:
		f.Target = Follower
	case t.place == machine: // killing everybody would show an outage, not a failover
		f.Target = Leader
	}
	return f
}
