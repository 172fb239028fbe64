package sender

import (
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

const self = ledger.Account("self")

func testContract() ledger.Contract {
	return ledger.Contract{
		Chain: 1, Address: "contract", Domain: "tokens 1", Needed: 1, Range: 8, Depth: 3, Life: 10,
		Members: []ledger.Account{self, "a", "b", "c"}, Committee: []ledger.Account{"a", "b", "c"},
	}
}

func testCommittee(c ledger.Contract) *ranking.Committee {
	var names []string
	for _, a := range c.Committee {
		names = append(names, string(a))
	}
	committee, err := ranking.NewCommittee(c.Address, names, c.Range, ranking.Rendezvous{})
	if err != nil {
		panic(err)
	}
	return &committee
}
