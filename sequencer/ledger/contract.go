package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/conchhq/conch/internal/faults"
	"github.com/conchhq/conch/sequencer/internal/ranking"
)

// Contract is the declaration of a shared contract. Every node has the same one; it never changes.
//
// To begin with: all members in the committee, Needed more than half of them, Range 100, Depth 2 or what the chain's own
// depth is, Life 50. A Range has to last ten times as long as a transaction takes, or the coordinator changes while most are
// under way; a Life that is shorter than the chain's worst delay has grants end unused, which costs time and nothing else.
type Contract struct {
	Chain   uint64 // the chain's ID
	Address string // the contract's, as the chain writes it

	Members   []Account // may own intents and endorse; an Endorsement names one by its place
	Committee []Account // the members that may coordinate
	Needed    int       // endorsements that an attempt needs; len(Members) is all of them

	Range  uint64 // blocks for which the committee keeps one order
	Depth  uint64 // blocks below the head at which a block is final
	Life   uint64 // blocks after the head until which a grant may last
	Domain string // the rules of its states, by name, version, and what they were made with
	Policy string // how its committee is ranked, one of [Policies]; empty is the first
}

// leastLife: a grant is used only if it leaves two blocks (Q16), and its owner may be a block behind.
const leastLife = 3

// Validate returns every fault.
func (c Contract) Validate() error {
	f := faults.List{Of: "contract: "}
	for _, group := range []struct {
		name string
		all  []Account
	}{{"members", c.Members}, {"committee", c.Committee}} {
		f.Add(len(group.all) == 0, "its %s are nobody", group.name)
		for i, a := range group.all {
			f.Add(a == "", "number %d of its %s has no account", i, group.name)
			f.Add(a != "" && slices.Contains(group.all[:i], a), "%v is twice among its %s", a, group.name)
		}
	}
	for _, a := range c.Committee {
		f.Add(!slices.Contains(c.Members, a), "%v is in its committee and no member", a)
	}
	f.Add(c.Needed < 1 || c.Needed > len(c.Members), "it needs %d endorsements of %d members", c.Needed, len(c.Members))
	f.Add(c.Range == 0 || c.Depth == 0 || c.Life < leastLife, "range, depth and life are blocks: one at least, and life %d, since no grant is used that leaves fewer", leastLife)
	f.Add(c.Address == "" || c.Domain == "", "it has no address, or no domain")
	_, is := ranking.Named(c.Policy)
	f.Add(!is, "no committee is ranked by %q: it is one of %q", c.Policy, ranking.Names())
	return f.All()
}

// Ranking returns the committee, named by its accounts, in the order of each range. The contract is valid.
func (c Contract) Ranking() (ranking.Committee, error) {
	names := make([]string, len(c.Committee))
	for i, a := range c.Committee {
		names[i] = string(a)
	}
	policy, _ := ranking.Named(c.Policy)
	return ranking.NewCommittee(c.Address, names, c.Range, policy)
}

// Warning says what is allowed and dangerous, or slow, empty if nothing is.
func (c Contract) Warning() string {
	var all []string
	if 2*c.Needed <= len(c.Members) {
		so := fmt.Sprintf("%d endorsements of %d members are", c.Needed, len(c.Members))
		if c.Needed == 1 {
			so = fmt.Sprintf("1 endorsement of %d members is", len(c.Members))
		}
		all = append(all, so+" no majority: under a partition both sides can spend, and the ledger refuses what comes second")
	}
	if c.Range < ShortRange*(c.Depth+1) {
		all = append(all, fmt.Sprintf("a range of %d blocks is shorter than %d times what an intent needs to become final: much of the work moves to another coordinator before it is done", c.Range, ShortRange))
	}
	return strings.Join(all, "; ")
}

// Policies returns by what a committee can be ranked. The first one is that of a contract which names none.
func Policies() []string { return ranking.Names() }

// ShortRange is how many times as long as an intent takes to become final a range should last.
const ShortRange = 10
