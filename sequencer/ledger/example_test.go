package ledger_test

import (
	"fmt"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Three organisations declare a contract. Each of them has the same declaration: what is wrong in it is an error, and what is dangerous
// or slow a warning.
func Example() {
	members := []ledger.Account{"bank", "north", "east"}
	c := ledger.Contract{
		Chain: 1, Address: "petty cash", Members: members, Committee: members[:2], Needed: 1,
		Range: 100, Depth: 2, Life: 2, Domain: "notes/1",
	}
	fmt.Println(c.Validate())
	c.Life = 50
	fmt.Println(c.Validate(), "/", c.Warning())
	// Output:
	// contract: range, depth and life are blocks: one at least, and life 3, since no grant is used that leaves fewer
	// <nil> / 1 endorsement of 3 members is no majority: under a partition both sides can spend, and the ledger refuses what comes second
}
