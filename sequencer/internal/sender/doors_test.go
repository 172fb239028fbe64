package sender

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/ledger"
)

// P34: for every reason of the ledger it is said whose fault it is that an attempt was skipped. Only the owner's counts
// against the intent, only the coordinator's has that left out, and nobody's moves the intent at most.
func TestEveryReasonIsAtADoor(t *testing.T) {
	t.Parallel()
	const waits, moves, counts, blames = "k1 is granted", "k1 is delegated, with \"a\"", "failures 1", "leave a out until the range turns"
	says := map[ledger.Reason][]string{
		ledger.Malformed:   {moves, counts},
		ledger.NotMember:   {moves, counts},
		ledger.Repeated:    {waits},
		ledger.Expired:     {waits},
		ledger.NotGranted:  {waits},
		ledger.NotEndorsed: {"k1 is delegated, with \"b\"", blames},
		ledger.Missing:     {moves},
	}
	if len(doors) != int(ledger.Missing)+1 || len(says) != int(ledger.Missing) {
		t.Fatalf("%d reasons are at a door, and %d are tried, of %d", len(doors)-1, len(says), ledger.Missing)
	}
	for r, want := range says {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored")
			got := s.play("block k1=A1:" + strings.ReplaceAll(r.String(), " ", "-"))
			said := strings.Join(append(got, s.play("status")...), "\n")
			for _, one := range []string{waits, moves, counts, blames} {
				if strings.Contains(said, one) != slices.Contains(want, one) {
					t.Errorf("it says, and not %q:\n%s", want, said)
				}
			}
			if blamed := s.m.Blamed(); (len(blamed) > 0) != slices.Contains(want, blames) {
				t.Errorf("%v are blamed", blamed)
			}
		})
	}
}

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

// Each way to an end has its stage, and a user can tell them apart: whatever brings an intent to a block, to an end or back.
func TestStages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e        event
		from, to State
		want     Stage
	}{
		{rowStored, Storing, Waiting, StageStored},
		{rowStored, Storing, Reverting, StageStored},
		{foundTwice, Storing, Reverted, ""},
		{offered, Waiting, Delegated, ""},
		{handed, Granted, Noting, ""},
		{handedStored, Noting, Dispatched, StageDispatched},
		{landed, Dispatched, Included, StageIncluded},
		{landed, Waiting, Included, StageIncluded},
		{skippedMissing, Dispatched, Waiting, StageSkipped},
		{skippedFaulty, Noting, Ending, StageSkipped},
		{skippedStray, Dispatched, Dispatched, ""},
		{rewound, Included, Dispatched, StageRewound},
		{cancelled, Granted, Ending, StageEnding},
		{overdue, Waiting, Reverting, ""},
		{judgedDead, Ending, Reverting, ""},
		{final, Included, Confirming, ""},
		{resultStored, Confirming, Confirmed, StageConfirmed},
		{resultStored, Reverting, Reverted, StageReverted},
	} {
		if got := stageOf(c.e, c.from, c.to); got != c.want {
			t.Errorf("%v from %v to %v is %q, want %q", c.e, c.from, c.to, got, c.want)
		}
	}
	table := newTable()
	for e := range events {
		for from := range states {
			for _, to := range table[e][from].next {
				if ends := to == Confirmed || to == Reverted; ends && e != foundTwice && stageOf(e, from, to) != Stage(to.String()) {
					t.Errorf("%v ends an intent as %v, and its stage is %q", e, to, stageOf(e, from, to))
				}
			}
		}
	}
}

// tokens are rules for tests. A state is a word. "make x" creates x, "move x y" spends an x and creates y, "read x y"
// needs an x and creates y, "burn x" spends an x and creates nothing. "never", "fail" and "panic" are what they say.
type tokens struct{}

func (tokens) Prepare(request []byte) ([]byte, error) { return request, nil }

func (tokens) Label(state []byte) string { return string(state) }

func (tokens) Assemble(call domain.Call, view domain.View) (d domain.Draft, err error) {
	words := strings.Fields(string(call.Payload))
	switch words[0] {
	case "make":
		return domain.Draft{Outputs: [][]byte{[]byte(words[1])}}, nil
	case "never":
		return d, domain.ErrNever
	case "fail":
		return d, errors.New("out of order")
	case "panic":
		panic("out of its mind")
	}
	s, is := first(view.Labelled(words[1], call.Sequence.Counter))
	if !is {
		return d, domain.ErrConflict
	}
	if d.Inputs = []ledger.StateID{s.ID}; words[0] == "burn" {
		return d, nil
	}
	d.Outputs = [][]byte{[]byte(words[2])}
	if words[0] == "read" {
		d.Inputs, d.Reads = nil, d.Inputs
	}
	return d, nil
}

func first(all iter.Seq[domain.State]) (domain.State, bool) {
	for s := range all {
		return s, true
	}
	return domain.State{}, false
}

func (tokens) Endorse(domain.Proposal) error { return nil }

// Every event in every state is named once, and does one thing.
func TestTheTableNamesEveryPair(t *testing.T) {
	t.Parallel()
	table := newTable()
	for e := range events {
		for s := range states {
			c := table[e][s]
			kinds := 0
			for _, is := range []bool{c.do != nil, c.ignored != "", c.refused != 0} {
				if is {
					kinds++
				}
			}
			if c.named != 1 || kinds != 1 || (c.do != nil) != (len(c.next) > 0) {
				t.Errorf("%q when %v: named %d times, %d kinds, next %v", e, s, c.named, kinds, c.next)
			}
		}
	}
}

// watch fails the test if an event leaves an intent in a state that the table does not name.
func watch(t testing.TB, m *Machine) {
	m.cfg.Watch = func(p Passage) {
		e := slices.Index(eventNames[:], p.Event)
		if !slices.Contains(m.table[e][p.From].next, p.To) {
			t.Errorf("%q brings an intent from %v to %v, and the table says %v", p.Event, p.From, p.To, m.table[e][p.From].next)
		}
	}
}

// shares steps a machine and returns for which attempts it asks, and whether it stores a result.
func shares(m *Machine, in Input) (asked []ledger.Hash, result bool) {
	for _, a := range m.Step(0, in) {
		switch a := a.(type) {
		case Share:
			asked = append(asked, a.Assembled)
		case Store:
			result = result || len(a.Results) > 0
		}
	}
	return asked, result
}

// Q14: what a reorganisation has put in another attempt's place is waited for, and a late word about the one before counts for
// nothing. What another node has coordinated is waited for by nobody.
func TestTheAttemptThatCountsIsShared(t *testing.T) {
	t.Parallel()
	contract := testContract()
	one, two, other := ledger.Hash{1}, ledger.Hash{2}, ledger.Hash{3}
	at := func(number uint64, s ledger.Sequence, payload string, landed ledger.Hash) ledger.Block {
		f := ledger.Fact{Intent: ledger.Intent{Owner: self, Sequence: s}, Payload: domain.PayloadHash([]byte(payload)), Assembled: landed}
		return ledger.Block{Number: number, Facts: []ledger.Fact{f}}
	}
	begin := func() *Machine {
		c := testConfig(t, &contract)
		c.Share = true
		load := func(counter uint64, payload string, given ...GrantRow) Loaded {
			return Loaded{IntentRow: IntentRow{Sequence: ledger.Sequence{Lineage: 3, Counter: counter}, Key: payload, Payload: []byte(payload)}, Grants: given}
		}
		grant := func(h ledger.Hash, to ledger.Account) GrantRow {
			return GrantRow{Given: grants.Given{Assembled: h, ValidUntil: 1000}, To: to, Grant: ledger.Grant{Assembled: h}}
		}
		c.Load = Load{Final: 5, Head: 5, Intents: []Loaded{load(1, "make x", grant(one, self), grant(two, self)), load(2, "make y", grant(other, "b"))}}
		m := New(c)
		m.Step(0, Tick{})
		return m
	}
	mine, theirs := ledger.Sequence{Lineage: 3, Counter: 1}, ledger.Sequence{Lineage: 3, Counter: 2}
	finish := func(m *Machine, from uint64) (result bool) {
		for n := from; n < from+contract.Depth; n++ {
			_, is := shares(m, ledger.Block{Number: n})
			result = result || is
		}
		return result
	}
	m := begin()
	if asked, _ := shares(m, at(6, theirs, "make y", other)); len(asked) > 0 || !finish(m, 7) {
		t.Errorf("what another has coordinated is offered: %v", asked)
	}
	for name, order := range map[string][]ledger.Hash{"the late word comes first": {one, two}, "the late word comes last": {two, one}} {
		m := begin()
		if asked, _ := shares(m, at(6, mine, "make x", one)); len(asked) != 1 || asked[0] != one {
			t.Fatalf("%s: asked for %v, want the first", name, asked)
		}
		m.Step(0, ledger.Rewind{To: 5})
		if asked, _ := shares(m, at(6, mine, "make x", two)); len(asked) != 1 || asked[0] != two {
			t.Fatalf("%s: asked for %v, want the second", name, asked)
		}
		shares(m, Shared{Sequence: mine, Assembled: order[0]})
		early := finish(m, 7)
		_, late := shares(m, Shared{Sequence: mine, Assembled: order[1]})
		if first := order[0] == two; early != first || late == first {
			t.Errorf("%s: told before the second word: %v, after it: %v", name, early, late)
		}
	}
	m = begin()
	shares(m, at(6, mine, "make x", one))
	m.Step(0, ledger.Rewind{To: 5})
	shares(m, at(6, mine, "make x", two))
	shares(m, Shared{Sequence: mine, Assembled: two})
	shares(m, Shared{Sequence: mine, Assembled: one})
	if !finish(m, 7) {
		t.Error("both words have come before it is final, and it is not told")
	}
}

// disk is what is committed.
type disk struct {
	open  map[ledger.Sequence]*Loaded
	order []ledger.Sequence
	ended map[ledger.Sequence]ledger.Result
}

func (d *disk) clone() disk {
	c := disk{maps.Clone(d.open), slices.Clone(d.order), maps.Clone(d.ended)}
	for s, l := range c.open {
		copied := *l
		copied.Grants = slices.Clone(l.Grants)
		c.open[s] = &copied
	}
	return c
}

func newDisk() disk {
	return disk{open: map[ledger.Sequence]*Loaded{}, ended: map[ledger.Sequence]ledger.Result{}}
}

// write carries out a Store.
func (d *disk) write(s Store) {
	for _, row := range s.Intents {
		d.open[row.Sequence] = &Loaded{IntentRow: row}
		d.order = append(d.order, row.Sequence)
	}
	for _, g := range s.Grants {
		if l := d.open[g.Sequence]; l != nil {
			l.Grants = append(l.Grants, g)
		}
	}
	for _, k := range s.Marks {
		l := d.open[k.Sequence]
		if l == nil {
			continue
		}
		l.Failures = max(l.Failures, k.Failures)
		if k.GivenUp != "" {
			l.GivenUp = k.GivenUp
		}
		if k.Dispatched != (ledger.Hash{}) {
			l.Dispatched = k.Dispatched
		}
		if k.Over != (ledger.Hash{}) {
			l.Over = k.Over
		}
	}
	for _, r := range s.Results {
		delete(d.open, r.Sequence)
		d.ended[r.Sequence] = r
	}
}

// loaded returns the open intents, in the order of submission.
func (d *disk) loaded() (all []Loaded) {
	for _, s := range d.order {
		if l := d.open[s]; l != nil {
			all = append(all, *l)
		}
	}
	return all
}
