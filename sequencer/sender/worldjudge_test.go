package sender

import (
	"fmt"
	"strings"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

func (w *world) finished(f Finished) {
	u := w.byKey[f.Key]
	if _, is := w.disk.ended[f.Result.Sequence]; !is {
		w.failf("the user of %s hears the end before it is stored", f.Key)
	}
	u.ended, u.result = true, f.Result
}

// checkResult compares a stored end with the ledger.
func (w *world) checkResult(u *told, r Result) {
	if u.lost {
		return
	}
	_, payload, is := w.final.Landed(ledger.Intent{Owner: self, Sequence: r.Sequence})
	mine := is && payload == domain.PayloadHash([]byte(u.payload))
	switch {
	case r.Confirmed && !mine:
		w.failf("C5: %s (%s) is Confirmed, and the ledger does not have it", u.key, u.payload)
	case !r.Confirmed && mine:
		w.failf("C2: %s (%s) is Reverted, and the ledger has it", u.key, u.payload)
	case !r.Confirmed && !u.excused && !strings.Contains(" never fail panic", strings.Fields(u.payload)[0]) && u.blame < 3:
		w.failf("D20: %s (%s) is Reverted for no reason that counts: %s", u.key, u.payload, r.Why)
	}
}

// inspect looks at what leaves.
func (w *world) inspect(s Send) {
	switch body := s.Message.Body.(type) {
	case wire.Delegate:
		w.offeredTo[body.Delegation] = s.To
		w.before[body.Delegation] = w.reached[body.Delegation]
		for _, o := range body.Intents {
			if at := w.placed[o.Sequence] + 1; at <= w.reached[body.Delegation] {
				w.failf("I4: %v was offered after one that was submitted later", o.Sequence)
			} else {
				w.reached[body.Delegation] = at
			}
			w.latest[o.Sequence] = body.Delegation
		}
	case wire.Assembled:
		w.count(s)
		for _, r := range body.Results {
			if r.Why == wire.Done {
				hash := w.scheme.Assembled(w.contract, r.Attempt)
				w.assembled[fmt.Sprint(w.latest[r.Sequence], hash)] = true
			}
		}
	case wire.Granted:
		if !w.begins {
			w.count(s)
		}
		for _, r := range body.Items {
			if r.Why == wire.Done {
				w.checkGrant(s.To, r)
			}
		}
	case wire.Noted:
		w.count(s)
	case wire.Rejected:
		w.count(s)
	}
}

func (w *world) count(s Send) {
	key := fmt.Sprint(s.To, s.Message.Request)
	if delete(w.owed, key); w.answered[key] == w.arrived[key] {
		w.failf("I10: request %v of %v got more answers than it was asked", s.Message.Request, s.To)
	}
	w.answered[key]++
}

// checkGrant: I5, P30, P38 and the rule of the own assembly.
func (w *world) checkGrant(to ledger.Account, r wire.GrantResult) {
	stored := false
	if l := w.disk.open[r.Sequence]; l != nil {
		for _, g := range l.Grants {
			stored = stored || g.Grant.Assembled == r.Grant.Assembled && g.Grant.Delegation == r.Grant.Delegation && g.Grant.ValidUntil == r.Grant.ValidUntil && g.To == to
		}
	}
	switch {
	case !stored:
		w.failf("P38: a grant of %v left before it was stored", r.Sequence)
	case w.offeredTo[r.Grant.Delegation] != to, r.Grant.Coordinator != to:
		w.failf("I5: a grant of %v for a delegation that went to %v left to %v", r.Sequence, w.offeredTo[r.Grant.Delegation], to)
	case !w.begins && w.latest[r.Sequence] != r.Grant.Delegation:
		w.failf("P30: a grant of %v for an earlier delegation", r.Sequence)
	case !w.assembled[fmt.Sprint(r.Grant.Delegation, r.Grant.Assembled)]:
		w.failf("own assembly: a grant of %v for a hash that was not assembled for this delegation", r.Sequence)
	}
}
