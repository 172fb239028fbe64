package core

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ErrConflict means that the key was used before, for something else.
var ErrConflict = errors.New("the key was used before, for another request")

// handIn has a contract's sender take a request.
func (k *contract) handIn(in Submit) {
	k.asking = in.Ticket
	k.toSender(in.Submit)
	k.asking = 0
}

// cancel has the sender give an intent up, and says when that is stored: behind what the sender has just stored.
func (k *contract) cancel(in Cancel) {
	k.toSender(sender.Cancel{Sequence: in.Sequence})
	k.store(Change{}, func([]ledger.Sequence) { k.core.act(Accepted{Ticket: in.Ticket, Sequence: in.Sequence}) })
}

// numbered notes who asks for the intents that a Store has: the one who hands one in now. By the key one could hear of
// another's request.
func (k *contract) numbered(rows []sender.IntentRow) {
	for _, row := range rows {
		if k.asking != 0 {
			k.asks[row.Sequence] = k.asking
		}
	}
}

// accepted tells the user who has asked for an intent which one it is, or why it is none.
func (k *contract) accepted(of, is ledger.Sequence, err error) {
	if ticket, asks := k.asks[of]; asks {
		k.core.act(Accepted{ticket, is, err})
		delete(k.asks, of)
	}
}

// twice tells a user what the first row of the key says. If that row was forgotten meanwhile the key is free again, and the
// request is handed in once more.
func (k *contract) twice(s sender.Store, second ledger.Sequence) {
	for _, row := range s.Intents {
		if row.Sequence != second {
			continue
		}
		k.core.act(Find{Contract: k.address(), Key: row.Key, ID: k.core.ask(func(a Answered) {
			switch found := a.Found; {
			case a.Err != nil:
				k.accepted(second, ledger.Sequence{}, a.Err)
			case found == nil:
				k.again(row)
			case !bytes.Equal(found.Payload, row.Payload) || found.Deadline != row.Deadline:
				k.accepted(second, found.Sequence, fmt.Errorf("%w: %q", ErrConflict, row.Key))
			default:
				k.accepted(second, found.Sequence, nil)
			}
		})})
	}
}

// again has a request handed in whose row was not stored.
func (k *contract) again(row sender.IntentRow) {
	if ticket, asks := k.asks[row.Sequence]; asks {
		delete(k.asks, row.Sequence)
		k.core.act(Again{Submit{ticket, k.address(), sender.Submit{Key: row.Key, Payload: row.Payload, Deadline: row.Deadline}}})
	}
}
