package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Target says whom a fault is meant for. Who that is, is seen when it comes.
type Target string

// The targets.
const (
	Leader     Target = "leader"    // the machine that wrote to the ledger last
	Supervisor Target = "run"       // the machine whose child wrote last
	Follower   Target = "follower"  // a machine that did neither
	Leaders    Target = "leaders"   // every machine that leads something, by the database
	Everybody  Target = "everybody" // all machines, or the database
)

// Fault is one line of a plan.
type Fault struct {
	Kind   Kind
	Target Target
	// Leases is how long it lasts, in leases.
	Leases float64
	// Pick decides between machines of which any would do.
	Pick int
	// Joined: it begins while the fault before it is still on.
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

// joinOne in so many faults begins while the one before it is on.
const joinOne = 6

// Plan makes n faults of the given kinds: first each kind once, in an order of the
// seed's choosing, then any by weight. It is pure: equal arguments, equal plans.
func Plan(seed uint64, n int, kinds []Kind) []Fault {
	if len(kinds) == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a plan that can be told from its seed is what is wanted
	order := slices.Clone(kinds)
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	plan := make([]Fault, 0, n)
	for i := range n {
		kind := pick(r, kinds)
		if i < len(order) {
			kind = order[i]
		}
		f := draw(r, kind)
		join := r.IntN(joinOne) < 2 // not every pair agrees
		if join && i > 0 && !plan[i-1].Joined && agree(plan[i-1].Kind, kind) {
			f.Joined = true
		}
		plan = append(plan, f)
	}
	return plan
}

func pick(r *rand.Rand, kinds []Kind) Kind {
	total := 0
	for _, k := range kinds {
		t, _ := traitOf(k)
		total += t.weight
	}
	at := r.IntN(max(total, 1))
	for _, k := range kinds {
		t, _ := traitOf(k)
		if at -= t.weight; at < 0 {
			return k
		}
	}
	return kinds[0]
}

// draw fills a fault in. Leaders are hit more often than followers: most faults of
// a follower are nobody's business.
func draw(r *rand.Rand, kind Kind) Fault {
	t, _ := traitOf(kind)
	f := Fault{Kind: kind, Target: Everybody, Leases: t.least + r.Float64()*(t.most-t.least), Pick: r.IntN(1 << 16)}
	dice := r.IntN(20)
	if t.place != machine && t.place != line {
		return f
	}
	switch {
	case kind == Backend, kind == Deaf && dice < 19: // who leads nothing has no session to be ended
		f.Target = Leaders
	case dice < 11:
		f.Target = Leader
	case dice < 16:
		f.Target = Supervisor
	case dice < 19:
		f.Target = Follower
	case t.place == machine: // nobody left would be no failover, only an outage
		f.Target = Leader
	}
	return f
}
