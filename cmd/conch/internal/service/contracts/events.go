package contracts

import (
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// kindContract names events of contracts on /v1/events, and is the parameter that selects those of one.
const kindContract = "contract"

// Event is a stage of a transaction's way, which begins. What it claims to be stored is stored.
type Event struct {
	At       time.Time `json:"at"`
	Contract string    `json:"contract"`
	ID       string    `json:"id"`
	Key      string    `json:"idempotency_key"`
	Event    string    `json:"event"` // a stage of sequencer.Told
	Fate     string    `json:"fate"`
	Node     string    `json:"node,omitempty"`
	Attempt  string    `json:"attempt,omitempty"`
	Block    uint64    `json:"block,omitempty"`
	Why      string    `json:"why,omitempty"`
}

func eventOf(t sequencer.Told, n names) Event {
	e := Event{
		At: t.At.UTC(), Contract: t.Contract, ID: idOf(t.Sequence), Key: t.Key, Event: t.Stage, Fate: fateOpen, Node: n.of(t.With), Block: t.Block, Why: t.Why,
	}
	if t.Stage == fateConfirmed || t.Stage == fateReverted {
		e.Fate = t.Stage
	}
	if t.Assembled != (ledger.Hash{}) {
		e.Attempt = t.Assembled.String()
	}
	return e
}

// teller passes the stages of this node's transactions on, without waiting. The rest of a story is for those who ask.
func (s *service) teller(section Section) func(sequencer.Told) {
	n := namesIn(section)
	return func(t sequencer.Told) {
		if t.Stage != "" {
			s.frame.Board.Tell(web.Notice{Kind: kindContract, Subject: t.Contract, Data: eventOf(t, n)})
		}
	}
}

// announce says that this process tells what happens from now on, or no more.
func (s *service) announce(leads bool) {
	n := web.Notice{Kind: kindContract, Gap: "this process runs the contracts' node from now on: what happened before, the lists of transactions say"}
	if !leads {
		n.Gap, n.Ends = "this process does not run the contracts' node any more: ask the one that leads it (GET /v1/scopes says which)", true
	}
	s.frame.Board.Tell(n)
}

// selects returns the contract that the caller of an event stream names. Only the process that runs the node tells of it.
func (a *api) selects(named string) (address string, err error) {
	d, err := a.find(named)
	if err != nil {
		return "", err
	}
	_, err = a.node()
	return d.Address, err
}
