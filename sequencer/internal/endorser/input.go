package endorser

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Input is what a machine is told: Received, Checked, Away, Tick, ledger.Block or ledger.Rewind.
type Input any

type (
	// Received is a message from a node that the network has authenticated.
	Received struct {
		From    ledger.Account
		Message wire.Message
	}
	// Checked answers Check, with one outcome for each proposal, in their order.
	Checked struct {
		Of       Request
		Outcomes []Outcome
	}
	// Away says which members of the committee this node does not hear. Only Strict asks (P8).
	Away struct{ Members []ledger.Account }
	// Tick says that time has passed.
	Tick struct{}
)

// Request names a request.
type Request struct {
	From ledger.Account
	ID   wire.RequestID
}

// Action is what a machine asks its loop to do: Check or Send.
type Action any

type (
	// Check asks for the rules' opinion of each proposal. The answer is Checked.
	Check struct {
		Of        Request
		Proposals []domain.Proposal
	}
	// Send sends a message. The loop signs those of its verdicts that are Done.
	Send struct {
		To      ledger.Account
		Message wire.Message
	}
)

// Outcome is the rules' opinion of a proposal: Done, Refused or Failed.
type Outcome struct {
	Why  wire.Why
	Text string
}

// Judge asks the rules. Where they panic they have failed: they are not the node's code, and what they look at is not
// the node's either. It is called in a worker.
func Judge(rules domain.Rules, proposals []domain.Proposal) []Outcome {
	outcomes := make([]Outcome, len(proposals))
	for i, p := range proposals {
		outcomes[i] = judge(rules, p)
	}
	return outcomes
}

func judge(rules domain.Rules, p domain.Proposal) (o Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			o = Outcome{wire.Failed, fmt.Sprintf("the rules panic: %v", fault)}
		}
	}()
	switch err := rules.Endorse(p); {
	case err == nil:
		return Outcome{Why: wire.Done}
	case errors.Is(err, domain.ErrNever):
		return Outcome{wire.Refused, err.Error()}
	default:
		return Outcome{wire.Failed, err.Error()}
	}
}
