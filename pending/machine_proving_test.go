package pending

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
)

// One reading of a block serves all claims about it, and so does one of its receipts if they are many. A signature and a count are
// asked for one by one.
func TestWhatClaimsRead(t *testing.T) {
	t.Parallel()
	in := func(block chain.Hash) claim {
		return claim{Claim: chain.Claim{Inclusion: chain.Inclusion{Hash: "h", Block: chain.Block{Hash: block}}}}
	}
	vacant, foreign, counts := in("a"), in("a"), in("a")
	vacant.Hash, foreign.Foreign, counts.Hash, counts.Counts = "", true, "", true
	many := slices.Repeat([]claim{in("a")}, chain.ReceiptsApart)
	for name, c := range map[string]struct {
		claims []claim
		want   int
	}{
		"none":             {},
		"the block alone":  {[]claim{vacant, vacant}, 1},
		"one block":        {[]claim{in("a"), in("a"), in("a")}, 1 + 3},
		"two blocks":       {[]claim{in("a"), in("a"), in("b"), in("b")}, 2 + 4},
		"there and back":   {[]claim{in("a"), in("b"), in("a")}, 3 + 3},
		"many of a block":  {many, 1 + chain.ReceiptsApart},
		"thousands":        {slices.Repeat(many, 1000), 1 + chain.ReceiptsApart},
		"many, and others": {slices.Concat(many, many, []claim{in("b")}, many), 3 + 2*chain.ReceiptsApart + 1},
		"foreign":          {[]claim{foreign, in("a"), foreign}, 1 + 3 + 2},
		"counts":           {[]claim{counts, counts}, 2},
		"beside the count": {[]claim{in("a"), counts, in("a")}, 3 + 2},
	} {
		if got := readsOf(c.claims); got != c.want {
			t.Errorf("%s: they read %d times, want %d", name, got, c.want)
		}
	}
}

// W1, W2, W3: an answer counts only for what was asked, and only as far as it goes. Each condition of linked and confirmed has
// a case that fails without it.
func TestAnswersThatEndNothing(t *testing.T) {
	t.Parallel()
	block := func(n uint64) chain.Block { return chain.Block{Number: n, Hash: chain.Hash([]byte{byte(n)})} }
	at, final, head := block(7), block(9), block(12)
	agrees := func(edit func(*claim)) confirmed {
		about := claim{
			Claim: chain.Claim{Inclusion: chain.Inclusion{Hash: "a", Block: at}}, Said: chain.Opinion{Stand: chain.Agrees, By: "two"},
		}
		edit(&about)
		return confirmed{Claims: []claim{about}}
	}
	differs := func(c *claim) { c.Said.Stand = chain.Differs }
	link := func(of, about chain.Block, is bool) linked {
		return linked{Of: of, Slots: []place{{Block: about}}, Are: []bool{is}}
	}
	asIs, first := func(*slot) {}, func(s *slot) { s.first, s.firstBy = final, "one" }
	foreign := func(s *slot) { first(s); s.in.Hash = "x" }
	ended := func(s *slot) { first(s); s.inFinal = true }
	for name, c := range map[string]struct {
		slot func(*slot)
		in   input
		want string // what is known of the slot then
	}{
		"linked to the final block":        {asIs, link(final, at, true), "in, first"},
		"linked to the head":               {asIs, link(head, at, true), "in"},
		"no ancestor of it":                {asIs, link(final, at, false), "retracted, doubt"},
		"another block is no ancestor":     {asIs, link(final, block(8), false), "in"},
		"of a slot that has ended":         {ended, link(final, at, false), "in, first, final"},
		"of a slot in no block":            {func(s *slot) { s.in = nil }, link(final, at, true), ""},
		"linked before to another one":     {func(s *slot) { s.first, s.firstBy = block(8), "one" }, link(final, at, true), "in, first before"},
		"the head no longer contradicts":   {func(s *slot) { s.contradicted = true }, link(head, at, true), "in"},
		"a second witness":                 {first, agrees(func(*claim) {}), "in, first, final"},
		"about another transaction":        {first, agrees(func(c *claim) { c.Hash = "b" }), "in, first"},
		"about another block":              {first, agrees(func(c *claim) { c.Block = block(8) }), "in, first"},
		"without a first one":              {asIs, agrees(func(*claim) {}), "in"},
		"about what is in no block":        {func(s *slot) { first(s); s.in = nil }, agrees(func(*claim) {}), "first"},
		"mute":                             {first, agrees(func(c *claim) { c.Said.Stand = chain.Mute }), "in, first"},
		"it contradicts":                   {first, agrees(differs), "in, doubt, refuted"},
		"it contradicts what was followed": {func(s *slot) { first(s); s.streamed = true }, agrees(differs), "in, doubt, refuted"},
		"it contradicts what has ended":    {ended, agrees(differs), "in, first, final"},
		"it contradicts a stranger's":      {foreign, agrees(func(c *claim) { c.Hash = "x"; differs(c) }), "retracted, doubt"},
		"a stranger's":                     {foreign, agrees(func(c *claim) { c.Hash = "x" }), "in, first, final"},
		"a lost attempt":                   {foreign, agrees(func(c *claim) { c.Hash, c.Own = "x", true }), "in, first, final, adopted"},
		"a stranger's without a proof":     {foreign, agrees(func(c *claim) { c.Hash, c.Unproven = "x", "words" }), "retracted, doubt"},
		"the block of a vacant nonce":      {func(s *slot) { first(s); s.in.Hash = "" }, agrees(func(c *claim) { c.Hash = "" }), "in, first, spent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
			m.head, m.final, m.finalBy, m.finals = head, final, "one", 1 // what was the head when it was asked may be final by now
			s := &slot{Slot: Slot{Attempts: []chain.Signed{{Hash: "a"}}}, deliveries: make([]delivery, 1), in: &chain.Inclusion{Hash: "a", Block: at}}
			c.slot(s)
			m.slots.addSlot(s)
			switch in := c.in.(type) {
			case linked:
				m.proving.takeLinked(0, in)
			case confirmed:
				m.proving.takeConfirmed(in)
			}
			if got := s.told(final); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// told says what is known of a slot's end.
func (s *slot) told(final chain.Block) string {
	var words []string
	for _, one := range []struct {
		word string
		is   bool
	}{
		{"in", s.in != nil}, {"first", s.first == final}, {"nobody's", s.first.Hash != "" && s.firstBy != "one"}, {"first before", s.first.Hash != "" && s.first != final}, {"retracted", s.retracted},
		{"final", s.inFinal}, {"adopted", s.adopted}, {"doubt", s.doubt}, {"spent", s.spent}, {"refuted", s.refuted}, {"followed", s.streamed}, {"contradicted", s.contradicted},
	} {
		if one.is {
			words = append(words, one.word)
		}
	}
	return strings.Join(words, ", ")
}

// W13: a search remembers how far it has got, and goes on until it has read the last block too: the transaction may be in that one.
func TestASearchReadsTheLastBlock(t *testing.T) {
	t.Parallel()
	for next, want := range map[uint64]bool{11: true, 12: true, 13: false} {
		m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
		m.head = chain.Block{Number: 12, Hash: "head"}
		s := &slot{Slot: Slot{Attempts: []chain.Signed{{}}}, deliveries: make([]delivery, 1), spent: true}
		m.slots.addSlot(s)
		if m.finding.takeFound(found{Next: next}); s.spent != want || s.isVacant() == want {
			t.Errorf("read up to below %d of 12: it goes on %v, vacant %v; want %v, %v", next, s.spent, s.isVacant(), want, !want)
		}
	}
}

// What is final, or a nonce that has been given up for good, stays so until its block has left the chain: whatever a search for
// another one finds later, and whatever a block has that follows.
func TestWhatHasEnded(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]input{
		"a search": found{Index: 9, Placed: []chain.Inclusion{{Hash: "x", Block: chain.Block{Number: 5, Hash: "5"}}}},
		"a block":  turned{Inclusions: []chain.Inclusion{{Hash: "x", Block: chain.Block{Number: 5, Hash: "5"}}}, Turn: chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: 5, Hash: "5"}}},
	} {
		for _, ended := range []bool{true, false} {
			m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
			s := &slot{Slot: Slot{Attempts: []chain.Signed{{}}}, deliveries: make([]delivery, 1), in: &chain.Inclusion{Block: chain.Block{Number: 3, Hash: "3"}}, inFinal: ended}
			m.slots.addSlot(s)
			switch in := in.(type) {
			case found:
				m.finding.takeFound(in)
			case turned:
				m.applyBlock(in)
			}
			if found := s.in.Hash == "x"; found == ended {
				t.Errorf("%s, ended %v: a transaction with its nonce counts %v", name, ended, found)
			}
		}
	}
}

// A slot leaves memory once it is stored as final in the very block in which it is: while a write was under way it may have been
// proven in another one.
func TestWhatIsOver(t *testing.T) {
	t.Parallel()
	for block, over := range map[chain.Hash]bool{"5": true, "5'": false} {
		m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
		s := &slot{
			Slot: Slot{Attempts: []chain.Signed{{Hash: "a"}}}, deliveries: make([]delivery, 1), inFinal: true, in: &chain.Inclusion{Hash: "a", Block: chain.Block{Number: 5, Hash: "5"}},
			saving: &Change{Hash: "a", Status: Finalized, Block: chain.Block{Number: 5, Hash: block}},
		}
		m.slots.addSlot(s)
		if m.saving.takeSaved(); (m.slots.slotAt(0) == nil) != over {
			t.Errorf("stored as final in block %s: it has left %v, want %v", block, !over, over)
		}
	}
}
