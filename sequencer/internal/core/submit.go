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

// askers are the users who wait until what they hand in is stored.
type askers struct {
	of      *contract
	asking  uint64 // the ticket of the one who hands an intent in, in this step; 0: nobody
	tickets map[ledger.Sequence]uint64
}

// handIn has a contract's sender take a request.
func (u *askers) handIn(in Submit) {
	u.asking = in.Ticket
	u.of.toSender(in.IntentRow)
	u.asking = 0
}

// cancelIntent has the sender give an intent up, and says when that is stored: behind what the sender has just stored.
func (k *contract) cancelIntent(in Cancel) {
	k.toSender(sender.Cancel{Sequence: in.Sequence})
	k.storeChange(Change{}, func([]ledger.Sequence) { k.core.act(Accepted{Ticket: in.Ticket, Sequence: in.Sequence}) })
}

// noteAskers notes who asks for the intents that a Store has: the one who hands one in now. By the key one could hear of
// another's request.
func (u *askers) noteAskers(rows []sender.IntentRow) {
	for _, row := range rows {
		if u.asking != 0 {
			u.tickets[row.Sequence] = u.asking
		}
	}
}

// tellAsker tells the user who has asked for an intent which one it is, or why it is none.
func (u *askers) tellAsker(of, is ledger.Sequence, err error) {
	if ticket, asks := u.tickets[of]; asks {
		u.of.core.act(Accepted{ticket, is, err})
		delete(u.tickets, of)
	}
}

// keyIsTaken tells a user what the first row of the key says. If that row was forgotten meanwhile the key is free again, and the
// request is handed in once more.
func (u *askers) keyIsTaken(s sender.Store, second ledger.Sequence) {
	for _, row := range s.Intents {
		if row.Sequence != second {
			continue
		}
		u.of.core.act(Find{Contract: u.of.address(), Key: row.Key, ID: u.of.core.askQuestion(func(a Answered) {
			switch found := a.Found; {
			case a.Err != nil:
				u.tellAsker(second, ledger.Sequence{}, a.Err)
			case found == nil:
				u.handInAgain(row)
			case !bytes.Equal(found.Payload, row.Payload) || found.Deadline != row.Deadline:
				u.tellAsker(second, found.Sequence, fmt.Errorf("%w: %q", ErrConflict, row.Key))
			default:
				u.tellAsker(second, found.Sequence, nil)
			}
		})})
	}
}

// handInAgain has a request handed in whose row was not stored.
func (u *askers) handInAgain(row sender.IntentRow) {
	if ticket, asks := u.tickets[row.Sequence]; asks {
		delete(u.tickets, row.Sequence)
		u.of.core.act(Again{Submit{ticket, u.of.address(), row}})
	}
}
