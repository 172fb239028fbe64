package consortium

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Kill      Kind = "kill"
	Partition Kind = "partition"
	Pause     Kind = "pause"
	Database  Kind = "database"
	Reorg     Kind = "reorg"
	Restore   Kind = "restore"
	Clock     Kind = "clock"
	OldHead   Kind = "old-head"

	Certificate Kind = "certificate"
)

// trait describes a kind: what it does, and how often it is drawn.
type trait struct {
	kind   Kind
	what   string
	weight int
}

// kinds has each kind. The first three are those of the demo, in its order.
var kinds = []trait{
	{Kill, "a node is killed, and started again", 4},
	{Partition, "two nodes are cut off from the other three", 3},
	{Pause, "a node is stopped, and goes on later", 3},
	{Database, "the database server is killed or restarted, for all nodes", 2},
	{Reorg, "the newest blocks of the chain are replaced, one to three of them", 3},
	{Restore, "a node's database is put back to what it was some seconds earlier", 2},
	{Clock, "the wall clock of one node is turned by hours or years, and turned back", 2},
	{Certificate, "the certificate of one node ends while it works, and is renewed a minute later", 1},
	{OldHead, "one node sees no new block of the chain, for three ranges", 1},
}

// demoKinds is how many kinds the demo has.
const demoKinds = 3

// Kinds returns every kind.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		all = append(all, k.kind)
	}
	return all
}

// Describe says what a kind of fault does.
func Describe(kind Kind) string { return traitOf(kind).what }

func traitOf(kind Kind) (t trait) {
	if i := slices.IndexFunc(kinds, func(t trait) bool { return t.kind == kind }); i >= 0 {
		t = kinds[i]
	}
	return t
}

// Fault is one of a plan.
type Fault struct {
	Kind  Kind
	Other bool          // it hits not the coordinator, but the organisation after it
	Long  bool          // it lasts longer than the time in which a node is missed
	Pick  int           // chooses between equals
	After time.Duration // the fault before it
}

const (
	shortestBreak = 1500 * time.Millisecond
	longestBreak  = 3500 * time.Millisecond
)

// Plan makes n faults: first each kind once, those that last beside others first, then any by weight. It is pure: equal
// arguments give equal plans.
func Plan(seed uint64, n int) []Fault {
	r := rand.New(rand.NewPCG(seed, 23)) //nolint:gosec // a plan must follow from its seed
	deck := stage.NewDeck(r, Kinds(), func(k Kind) int { return traitOf(k).weight })
	slices.SortStableFunc(deck.First, func(a, b Kind) int { return rank(a) - rank(b) })
	plan := make([]Fault, 0, n)
	for range n {
		plan = append(plan, Fault{
			Kind: deck.Deal(), Other: r.IntN(2) == 1, Long: r.IntN(2) == 1, Pick: r.IntN(1 << 16),
			After: shortestBreak + time.Duration(r.Int64N(int64(longestBreak-shortestBreak))),
		})
	}
	return plan
}

// rank is 0 for what lasts while other faults come.
func rank(k Kind) int {
	if k == OldHead || k == Restore || k == Certificate {
		return 0
	}
	return 1
}

// demoFault is the nth fault of the demo.
func demoFault(n int, every time.Duration) Fault {
	round := n / demoKinds
	return Fault{Kind: kinds[n%demoKinds].kind, Other: round%2 == 1, Long: round%2 == 1, After: every}
}
