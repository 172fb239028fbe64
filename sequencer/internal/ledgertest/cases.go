package ledgertest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

func sorted(states ...ledger.StateID) []ledger.StateID {
	slices.SortFunc(states, func(a, b ledger.StateID) int { return bytes.Compare(a[:], b[:]) })
	return states
}

func aStateIsPassedOn(_ *testing.T, t *trial) {
	s := t.made(2)
	a := t.attempt(1, s[0])
	a.Reads = s[1:]
	t.takes(t.entry(a))
	if t.Ledger.Unspent(s[0]) || !t.Ledger.Unspent(s[1]) || !t.Ledger.Unspent(t.states(a)[0]) {
		t.Error("want the input spent, and the read and the output there")
	}
	assembled, payload, is := t.Ledger.Landed(a.Intent)
	if !is || assembled != t.Scheme.Assembled(t.Contract, a) || payload != a.Payload {
		t.Errorf("landed %v, %v, %v; want this attempt and its payload", assembled, payload, is)
	}
}

// P43, I1: whatever attempts there are, one lands, in one block or in two.
func anIntentLandsOnce(_ *testing.T, t *trial) {
	s := t.made(2)
	one, two := t.attempt(1, s[0]), t.attempt(1, s[1])
	two.Intent = one.Intent
	t.block([]ledger.Reason{ledger.Taken, ledger.Repeated}, t.entry(one), t.entry(two))
	t.skips(ledger.Repeated, t.entry(two))
	t.skips(ledger.Repeated, t.entry(one))
	if !t.Ledger.Unspent(s[1]) {
		t.Error("the attempt that lost has spent its input")
	}
	other := two
	other.Sequence.Lineage++ // the same counter of another start
	t.takes(t.entry(other))
}

// The grant names the account that sends: what a mempool shows is worth nothing to others.
func nobodyCopiesAGrant(_ *testing.T, t *trial) {
	e := t.entry(t.attempt(1))
	for _, by := range []Member{t.Members[0], t.Members[2], t.Stranger} {
		t.sent([]ledger.Reason{ledger.NotGranted}, ledger.Sent{By: by.Account, Entries: []ledger.Entry{e}})
	}
	changed := e
	changed.Grant.Coordinator = t.Stranger.Account
	t.sent([]ledger.Reason{ledger.NotGranted}, ledger.Sent{By: t.Stranger.Account, Entries: []ledger.Entry{changed}})
	t.takes(e)
}

// An endorsed attempt cannot be made another owner's, or another intent's.
func nobodyTakesEndorsements(_ *testing.T, t *trial) {
	s := t.made(1)
	theirs := t.entry(t.attempt(1, s...))
	mine := theirs
	mine.Owner = t.Members[2].Account
	t.grant(&mine, t.Members[2], ledger.Grant{Assembled: t.Scheme.Assembled(t.Contract, mine.Attempt), Coordinator: t.Members[1].Account, ValidUntil: 100})
	t.skips(ledger.NotEndorsed, mine)
	mine = theirs // with the hash that was endorsed
	mine.Owner = t.Members[2].Account
	t.grant(&mine, t.Members[2], ledger.Grant{Assembled: theirs.Grant.Assembled, Coordinator: t.Members[1].Account, ValidUntil: 100})
	t.skips(ledger.NotGranted, mine)
	for what, spoil := range map[string]func(*ledger.Entry){
		"sequence": func(e *ledger.Entry) { e.Sequence.Counter += 1000 },
		"lineage":  func(e *ledger.Entry) { e.Sequence.Lineage++ },
		"payload":  func(e *ledger.Entry) { e.Payload[5]++ },
		"inputs":   func(e *ledger.Entry) { e.Inputs = nil },
		"reads":    func(e *ledger.Entry) { e.Reads, e.Inputs = e.Inputs, nil },
		"outputs":  func(e *ledger.Entry) { e.Outputs = []ledger.Hash{{9}} },
		"data":     func(e *ledger.Entry) { e.Data = []byte("other") },
	} {
		e := theirs
		spoil(&e)
		t.Log(what)
		t.grant(&e, t.Members[0], ledger.Grant{Assembled: t.Scheme.Assembled(t.Contract, e.Attempt), Coordinator: t.Members[1].Account, ValidUntil: 100})
		t.skips(ledger.NotEndorsed, e)
	}
	t.takes(theirs)
}

func aStrangerOwnsNothing(_ *testing.T, t *trial) {
	a := t.attempt(1)
	a.Owner = t.Stranger.Account
	e := t.entry(a)
	t.grant(&e, t.Stranger, e.Grant)
	t.skips(ledger.NotMember, e)
}

func statesAreInOrder(_ *testing.T, t *trial) {
	s := t.made(3)
	for what, spoil := range map[string]func(*ledger.Attempt){
		"inputs fall":        func(a *ledger.Attempt) { a.Inputs = []ledger.StateID{s[1], s[0]} },
		"an input twice":     func(a *ledger.Attempt) { a.Inputs = []ledger.StateID{s[0], s[0]} },
		"reads fall":         func(a *ledger.Attempt) { a.Reads = []ledger.StateID{s[2], s[1]} },
		"a read twice":       func(a *ledger.Attempt) { a.Reads = []ledger.StateID{s[1], s[1]} },
		"a read is an input": func(a *ledger.Attempt) { a.Inputs, a.Reads = s[:2], s[1:] },
	} {
		a := t.attempt(1)
		spoil(&a)
		t.Log(what)
		t.skips(ledger.Malformed, t.entry(a))
	}
	a := t.attempt(1, s[:2]...)
	a.Reads = s[2:]
	t.takes(t.entry(a))
}

// A grant's last block may have it, and no later one.
func aGrantEnds(_ *testing.T, t *trial) {
	until := func(block uint64) ledger.Entry {
		e := t.entry(t.attempt(1))
		e.Grant.ValidUntil = block
		t.grant(&e, t.Members[0], e.Grant)
		return e
	}
	now := t.Ledger.Number()
	late := until(now + 1)
	t.takes(until(now + 1))
	t.skips(ledger.Expired, late)
	changed := late
	changed.Grant.ValidUntil += 100
	t.skips(ledger.NotGranted, changed)
}

func theOwnerGrants(_ *testing.T, t *trial) {
	for what, spoil := range map[string]func(*ledger.Entry){
		"another member's":     func(e *ledger.Entry) { t.grant(e, t.Members[2], e.Grant) },
		"no signature":         func(e *ledger.Entry) { e.Grant.Signature = nil },
		"a long signature":     func(e *ledger.Entry) { e.Grant.Signature = append(slices.Clone(e.Grant.Signature), 0) },
		"another delegation":   func(e *ledger.Entry) { e.Grant.Delegation[0]++ },
		"for another attempt":  func(e *ledger.Entry) { e.Grant.Assembled[0]++; t.grant(e, t.Members[0], e.Grant) },
		"of another contract":  func(e *ledger.Entry) { t.elsewhere(e, func(c *ledger.Contract) { c.Address += "0" }) },
		"of a chain like this": func(e *ledger.Entry) { t.elsewhere(e, func(c *ledger.Contract) { c.Chain++ }) },
	} {
		e := t.entry(t.attempt(1))
		spoil(&e)
		t.Log(what)
		t.skips(ledger.NotGranted, e)
	}
}

// elsewhere signs the grant for a contract that differs.
func (t *trial) elsewhere(e *ledger.Entry, differ func(*ledger.Contract)) {
	c := t.Contract
	differ(&c)
	e.Grant.Signature = t.Members[0].Sign(t.Scheme.Granted(c, e.Grant))
}

func enoughEndorse(_ *testing.T, t *trial) {
	by := func(e *ledger.Entry, members ...int) {
		e.Endorsements = nil
		for _, i := range members {
			e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: t.Members[i].Sign(e.Grant.Assembled)})
		}
	}
	for what, spoil := range map[string]func(*ledger.Entry){
		"none":              func(e *ledger.Entry) { by(e) },
		"one of two":        func(e *ledger.Entry) { by(e, 2) },
		"one twice":         func(e *ledger.Entry) { by(e, 2, 2) },
		"falling":           func(e *ledger.Entry) { by(e, 2, 1) },
		"another's place":   func(e *ledger.Entry) { by(e, 0, 1); e.Endorsements[1].Member = 2 },
		"no such place":     func(e *ledger.Entry) { by(e, 0, 1); e.Endorsements[1].Member = 4 },
		"a place below 0":   func(e *ledger.Entry) { by(e, 0, 1); e.Endorsements[0].Member = -1 },
		"no signature":      func(e *ledger.Entry) { by(e, 0, 1); e.Endorsements[0].Signature = nil },
		"two and a bad one": func(e *ledger.Entry) { by(e, 0, 1, 2); e.Endorsements[2].Signature = e.Endorsements[1].Signature },
		"of another attempt": func(e *ledger.Entry) {
			other := t.entry(t.attempt(1))
			e.Endorsements = other.Endorsements
		},
	} {
		e := t.entry(t.attempt(1))
		spoil(&e)
		t.Log(what)
		t.skips(ledger.NotEndorsed, e)
	}
	for _, members := range [][]int{{0, 1}, {1, 3}, {0, 1, 2, 3}} {
		e := t.entry(t.attempt(1))
		by(&e, members...)
		t.takes(e)
	}
}

func statesAreThere(_ *testing.T, t *trial) {
	s := t.made(2)
	t.takes(t.entry(t.attempt(0, s[0])))
	unknown := ledger.StateID{9}
	for what, spoil := range map[string]func(*ledger.Attempt){
		"a spent input":   func(a *ledger.Attempt) { a.Inputs = s[:1] },
		"a spent read":    func(a *ledger.Attempt) { a.Reads = s[:1] },
		"an unknown one":  func(a *ledger.Attempt) { a.Inputs = []ledger.StateID{unknown} },
		"one of two":      func(a *ledger.Attempt) { a.Inputs = sorted(s[1], unknown) },
		"an unknown read": func(a *ledger.Attempt) { a.Inputs, a.Reads = s[1:], []ledger.StateID{unknown} },
	} {
		a := t.attempt(1)
		spoil(&a)
		t.Log(what)
		t.skips(ledger.Missing, t.entry(a))
	}
	if !t.Ledger.Unspent(s[1]) {
		t.Error("an attempt that was skipped has spent an input")
	}
}

// In one batch an attempt may stand on the one before, and what is skipped holds up only what stands on it.
func whatIsSkippedHoldsNothingUp(_ *testing.T, t *trial) {
	s := t.made(1)
	first := t.attempt(1, s...)
	second := t.attempt(1, t.states(first)...)
	lost := t.attempt(1, ledger.StateID{9})
	onLost := t.attempt(1, t.states(lost)...)
	last := t.attempt(1, t.states(second)...)
	want := []ledger.Reason{ledger.Taken, ledger.Missing, ledger.Taken, ledger.Missing, ledger.Taken}
	t.block(want, t.entry(first), t.entry(lost), t.entry(second), t.entry(onLost), t.entry(last))
	if !t.Ledger.Unspent(t.states(last)[0]) || t.Ledger.Unspent(t.states(first)[0]) {
		t.Error("want the last output there, and those between spent")
	}
}

// An owner ends an intent for ever, once it has not landed.
func cancelledForEver(_ *testing.T, t *trial) {
	cancel := func(in ledger.Intent, by Member) ledger.Sent {
		signature := by.Sign(t.Scheme.Cancelled(t.Contract, in))
		return ledger.Sent{By: t.Stranger.Account, Cancel: &ledger.Cancellation{Intent: in, Signature: signature}} // anybody may send it
	}
	e, landed := t.entry(t.attempt(1)), t.entry(t.attempt(1))
	t.takes(landed)
	strange := ledger.Intent{Owner: t.Stranger.Account}
	t.sent([]ledger.Reason{ledger.NotGranted}, cancel(e.Intent, t.Members[1]))
	t.sent([]ledger.Reason{ledger.NotMember}, cancel(strange, t.Stranger))
	t.sent([]ledger.Reason{ledger.Repeated}, cancel(landed.Intent, t.Members[0]))
	t.sent([]ledger.Reason{ledger.Taken}, cancel(e.Intent, t.Members[0]))
	t.sent([]ledger.Reason{ledger.Repeated}, cancel(e.Intent, t.Members[0]))
	t.skips(ledger.Repeated, e)
	if assembled, payload, is := t.Ledger.Landed(e.Intent); !is || assembled != (ledger.Hash{}) || payload != (ledger.Hash{}) {
		t.Errorf("a cancelled intent landed as %v, %v, %v; want it without hashes", assembled, payload, is)
	}
}

// No state comes back: the same outputs of another attempt have other names.
func namesAreDerived(_ *testing.T, t *trial) {
	one, two := t.attempt(2), t.attempt(2)
	two.Outputs = one.Outputs
	t.block([]ledger.Reason{ledger.Taken, ledger.Taken}, t.entry(one), t.entry(two))
	all := map[ledger.StateID]bool{}
	for _, s := range slices.Concat(t.states(one), t.states(two)) {
		all[s] = t.Ledger.Unspent(s)
	}
	if len(all) != 4 {
		t.Errorf("four outputs have %d names", len(all))
	}
	for s, is := range all {
		if !is {
			t.Errorf("the output %v is not there", s)
		}
	}
	spent := sorted(t.states(one)...)
	t.takes(t.entry(t.attempt(0, spent...)))
	t.skips(ledger.Repeated, t.entry(one))
	if t.Ledger.Unspent(spent[0]) {
		t.Error("a spent state came back")
	}
}

// A coordinator that is replaced gets another grant for the same endorsements.
func aNewGrantNeedsNoEndorsements(_ *testing.T, t *trial) {
	e := t.entry(t.attempt(1))
	again := e
	t.grant(&again, t.Members[0], ledger.Grant{Assembled: e.Grant.Assembled, Coordinator: t.Members[2].Account, Delegation: ledger.Hash{4}, ValidUntil: t.Ledger.Number() + 1})
	t.sent([]ledger.Reason{ledger.Taken}, ledger.Sent{By: t.Members[2].Account, Entries: []ledger.Entry{again}})
	t.skips(ledger.Repeated, e)
}
