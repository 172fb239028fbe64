package pending

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// slotInBlock returns a slot that may leave the line of a machine whose head is block 9.
func slotInBlock(index uint64) *slot {
	block := chain.Block{Number: 5, Hash: "5"}
	s := &slot{Slot: Slot{Index: index, Attempts: []chain.Signed{signed(index, 1)}}, deliveries: make([]delivery, 1)}
	s.setPlace(&chain.Inclusion{Hash: s.Attempts[0].Hash, Block: block}, true)
	s.saved, s.inSince = s.asChange(false), 1
	return s
}

// S24: only a slot leaves that a takeover would restore as it is, and with which nothing is under way.
func TestWhatLeaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*machine, *slot)
		want   bool
	}{
		"in its block, as stored":          {func(*machine, *slot) {}, true},
		"found by a lookup":                {func(_ *machine, s *slot) { s.streamed = false }, true},
		"stored as late":                   {func(m *machine, s *slot) { m.set.FinalAfter = 2; s.saved.Status = FinalityTimeout }, true},
		"late, and not stored as that":     {func(m *machine, _ *slot) { m.set.FinalAfter = 2 }, false},
		"in no block":                      {func(_ *machine, s *slot) { s.in = nil }, false},
		"near the head":                    {func(m *machine, _ *slot) { m.head.Number = 8 }, false},
		"not above the final block":        {func(m *machine, _ *slot) { m.final = chain.Block{Number: 5, Hash: "5"} }, false},
		"linked to a final block":          {func(_ *machine, s *slot) { s.first.Hash = "4" }, false},
		"final":                            {func(_ *machine, s *slot) { s.inFinal = true }, false},
		"in doubt":                         {func(_ *machine, s *slot) { s.doubt = true }, false},
		"contradicted":                     {func(_ *machine, s *slot) { s.contradicted = true }, false},
		"refuted":                          {func(_ *machine, s *slot) { s.refuted = true }, false},
		"to be searched for":               {func(_ *machine, s *slot) { s.spent = true }, false},
		"another sender's":                 {func(_ *machine, s *slot) { s.in.Hash = "x"; s.saved = s.asChange(false) }, false},
		"vacant":                           {func(_ *machine, s *slot) { s.in.Hash = ""; s.saved = s.asChange(false) }, false},
		"being stored":                     {func(_ *machine, s *slot) { s.saving = &Change{} }, false},
		"stored as in another block":       {func(_ *machine, s *slot) { s.saved.Block.Hash = "5'" }, false},
		"stored as ready":                  {func(_ *machine, s *slot) { s.saved = Change{Status: Ready, Hash: s.saved.Hash} }, false},
		"not stored":                       {func(_ *machine, s *slot) { s.saved = Change{} }, false},
		"its words are stored":             {func(_ *machine, s *slot) { s.waits = "invalid"; s.saved = s.asChange(false) }, false},
		"an alarm is raised":               {func(m *machine, _ *slot) { m.alarms[Alarm{Cause: Fees, Index: 1}] = true }, false},
		"an alarm about another is raised": {func(m *machine, _ *slot) { m.alarms[Alarm{Cause: Fees, Index: 2}] = true }, true},
		"an alarm about all is raised":     {func(m *machine, _ *slot) { m.alarms[Alarm{Cause: Funds, Whole: true, Index: 1}] = true }, true},
		"a replace of it is under way": {func(m *machine, _ *slot) {
			m.underway.beginErrand(toSign)
			m.signing.replacing = []replacement{{Index: 1}}
		}, false},
		"a replace of it has ended":        {func(m *machine, _ *slot) { m.signing.replacing = []replacement{{Index: 1}} }, true},
		"a page of its nonce is under way": {func(m *machine, _ *slot) { m.deep.asked = &page{From: 0, To: 1} }, false},
		"a page of others is under way":    {func(m *machine, _ *slot) { m.deep.asked = &page{From: 2, To: 3} }, true},
	} {
		m := newMachine(settings{Held: held{Most: 1, Guests: 1, Page: 1, Depth: 4}})
		m.rows.phase, m.head = working, chain.Block{Number: 9, Hash: "9"}
		s := slotInBlock(1)
		m.slots.addSlot(s)
		m.slots.addSlot(&slot{Slot: Slot{Index: 2, Attempts: []chain.Signed{{}}}, deliveries: make([]delivery, 1)})
		c.change(m, s)
		if m.paging.leaveLine(fence.Instant(time.Hour)); (m.slots.slotAt(1) == nil) != c.want || (m.deep.runOf(1) != nil) != c.want || m.slots.slotAt(2) == nil {
			t.Errorf("%s: it has left: %v, want %v", name, m.slots.slotAt(1) == nil, c.want)
		}
	}
}

// Nonces next to each other are one run if nothing else is different.
func TestRunsAreJoined(t *testing.T) {
	t.Parallel()
	one := func(first, last uint64, change func(*run)) *run {
		r := &run{Run: Run{First: first, Last: last, Block: chain.Block{Number: 1, Hash: "1"}}}
		change(r)
		return r
	}
	same := func(*run) {}
	for name, c := range map[string]struct {
		next *run
		want bool
	}{
		"the same":        {one(4, 5, same), true},
		"a nonce between": {one(5, 6, same), false},
		"another block":   {one(4, 5, func(r *run) { r.Block.Hash = "1'" }), false},
		"late":            {one(4, 5, func(r *run) { r.Late = true }), false},
		"streamed":        {one(4, 5, func(r *run) { r.streamed = true }), false},
		"reverted":        {one(4, 5, func(r *run) { r.reverted = true }), false},
		"unused":          {one(4, 5, func(r *run) { r.unused = true }), false},
	} {
		var d deep
		d.addRuns([]*run{one(1, 3, same), one(8, 9, same)})
		d.addRuns([]*run{c.next})
		if got := len(d.order) == 2; got != c.want {
			t.Errorf("%s: joined %v, want %v", name, got, c.want)
		}
	}
}

func TestCuttingRuns(t *testing.T) {
	t.Parallel()
	for cut, want := range map[[2]uint64]string{
		{0, 1}: "2-4 6-7 8-8", {2, 2}: "3-4 6-7 8-8", {3, 3}: "2-2 4-4 6-7 8-8", {2, 6}: "7-7 8-8", {4, 7}: "2-3 8-8", {0, 9}: "", {5, 5}: "2-4 6-7 8-8",
	} {
		var d deep
		for _, r := range [][2]uint64{{2, 4}, {6, 7}, {8, 8}} {
			d.order = append(d.order, &run{Run: Run{First: r[0], Last: r[1], Block: chain.Block{Hash: chain.Hash(fmt.Sprint(r[0]))}}, reverted: true})
		}
		d.cutNonces(cut[0], cut[1])
		got := ""
		for _, r := range d.order {
			got += fmt.Sprintf(" %d-%d", r.First, r.Last)
		}
		if got != "" {
			got = got[1:]
		}
		if got != want || d.away != len(d.order) {
			t.Errorf("without %v: got %s with %d away, want %s", cut, got, d.away, want)
		}
		for index := range uint64(10) {
			r := d.runOf(index)
			if r != nil && (index < r.First || index > r.Last) {
				t.Errorf("without %v: the run of %d is %+v", cut, index, r)
			}
		}
	}
}

// The first slots of an account are sent again and pay more behind one that has left, as behind one in a block.
func TestASlotThatHasLeftHidesNoOther(t *testing.T) {
	t.Parallel()
	m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9, ResendAfter: 1, RaiseAfter: 1})
	m.rows.phase, m.head = working, chain.Block{Number: 9, Hash: "9"}
	m.deep.addRuns([]*run{{Run: Run{First: 0, Last: 0, Block: chain.Block{Number: 1, Hash: "1"}}}})
	s := &slot{Slot: Slot{Index: 1, Attempts: []chain.Signed{{}}}, deliveries: []delivery{{reached: taken}}}
	m.slots.addSlot(s)
	m.front.offerAgain()
	m.front.markStuck(fence.Instant(time.Hour))
	if !s.again || !s.stuck {
		t.Errorf("sent again: %v, pays more: %v; want both", s.again, s.stuck)
	}
}

// A million transactions that are not final are held as runs of a few thousand blocks. The rest, and so the work of each
// step, has a limit, which no number of them changes.
func TestAMillionUnfinal(t *testing.T) {
	t.Parallel()
	const big = 3000 // transactions in a block
	many := 30_000
	if os.Getenv("CONCH_NIGHTLY") != "" {
		many = 1_200_000
	}
	l := newLongLine(t)
	for l.m.next < uint64(many) {
		l.block(big)
		if n := len(l.m.slots.inOrder()); n > usual.Most+5*big { // those of the newest blocks have not left yet
			t.Fatalf("%d slots in memory of %d, want at most %d", n, l.m.next, usual.Most+5*big)
		}
	}
	if n := len(l.m.deep.order); n > many/big {
		t.Errorf("%d runs, want one for each of %d blocks", n, many/big)
	}
}

// longLine is a machine of an account whose transactions are included at once and never final.
type longLine struct {
	m      *machine
	now    fence.Instant
	height uint64
}

func newLongLine(t testing.TB) *longLine {
	t.Helper()
	l := &longLine{now: fence.Instant(time.Hour)}
	l.m = newMachine(settings{MaxInFlight: 4000, MaxBatch: 500, ResendAfter: 3, FillAfter: 10, Retry: time.Second, Patience: time.Hour})
	l.step(tick{})
	l.step(loaded{})
	return l
}

// step takes an input and answers what it causes.
func (l *longLine) step(in input) {
	for _, a := range l.m.Step(l.now, in) {
		if reflect.TypeOf(a) == reflect.TypeFor[save]() {
			l.step(saved{})
		}
	}
}

// block signs some transactions and includes them in one block.
func (l *longLine) block(n int) {
	var with []chain.Inclusion
	var add stored
	l.height++
	head := chain.Block{Number: l.height, Hash: chain.Hash(fmt.Sprint("b", l.height))}
	for i := range n {
		index := l.m.next + uint64(i)
		one := signed(index, 1)
		add.Slots = append(add.Slots, Slot{Index: index, Attempts: []chain.Signed{one}})
		with = append(with, chain.Inclusion{Index: index, Hash: one.Hash, Block: head})
	}
	l.m.signing.replacing = nil
	l.step(add)
	l.m.underway.endErrand(toSend)
	l.now = l.now.Add(time.Second)
	l.step(turned{Turn: chain.Turn{Kind: chain.Applied, Block: head}, Inclusions: with, Count: l.m.next})
}

// BenchmarkStepOfMany is a step of an account with that many transactions that are not final.
func BenchmarkStepOfMany(b *testing.B) {
	for _, many := range []uint64{10_000, 1_200_000} {
		l := newLongLine(b)
		for l.m.next < many {
			l.block(100)
		}
		for name, in := range map[string]func() input{
			"tick": func() input { return tick{} },
			"head": func() input {
				l.height++
				return turned{Turn: chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: l.height, Hash: chain.Hash(fmt.Sprint("b", l.height))}}, Count: l.m.next}
			},
			"final": func() input {
				return turned{Turn: chain.Turn{Kind: chain.Finalized, Block: chain.Block{Number: 0, Hash: "b0"}}}
			},
			"revert": func() input {
				return turned{Turn: chain.Turn{Kind: chain.Reverted, Block: chain.Block{Number: 1 << 40, Hash: "none"}}}
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, many), func(b *testing.B) {
				var took []time.Duration // of a busy machine the mean says little
				for b.Loop() {
					next, began := in(), time.Now()
					l.step(next)
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns")
			})
		}
		b.Run(fmt.Sprintf("block/%d", many), func(b *testing.B) {
			for b.Loop() {
				l.block(100)
			}
		})
	}
}

// Runs of which the chain says something new: a run that was followed is told of each block that leaves the chain, so a count that
// is too low says nothing of it; and the block that a run is in may be applied again.
func TestWhatConcernsRuns(t *testing.T) {
	t.Parallel()
	made := chain.Block{Number: 5, Hash: "5"}
	for name, c := range map[string]struct {
		streamed bool
		tell     func(*deep)
		away     bool
	}{
		"loaded, and not counted":      {false, func(d *deep) { d.noteUncounted(3) }, true},
		"followed, and not counted":    {true, func(d *deep) { d.noteUncounted(3) }, false},
		"all of it is counted":         {false, func(d *deep) { d.noteUncounted(5) }, false},
		"a nonce is in another block":  {true, func(d *deep) { d.noteMoved(3, chain.Block{Number: 5, Hash: "5'"}) }, true},
		"its block is applied again":   {true, func(d *deep) { d.noteMoved(3, made) }, false},
		"another's is in one":          {true, func(d *deep) { d.noteMoved(9, chain.Block{Number: 5, Hash: "5'"}) }, false},
		"its block has left the chain": {true, func(d *deep) { d.revertBlock(made, 9) }, true},
		"another block has left":       {true, func(d *deep) { d.revertBlock(chain.Block{Number: 5, Hash: "5'"}, 9) }, false},
	} {
		var d deep
		d.addRuns([]*run{{Run: Run{First: 2, Last: 4, Block: made}, streamed: c.streamed}})
		if c.tell(&d); d.order[0].isAway() != c.away || (d.away == 1) != c.away {
			t.Errorf("%s: it is away: %v, want %v (%d are)", name, d.order[0].isAway(), c.away, d.away)
		}
		for best, want := range map[uint64]int{0: 3, 2: 3, 3: 2, 4: 1, 5: 0} {
			if got := d.countAway(best); got != want && c.away || got != 0 && !c.away {
				t.Errorf("%s: %d are to be sent again from %d on, want %d if it is away", name, got, best, want)
			}
		}
	}
	var d deep
	d.addRuns([]*run{{Run: Run{First: 2, Last: 4, Block: made}}, {Run: Run{First: 7, Last: 8, Block: chain.Block{Number: 5, Hash: "5'"}}}})
	if lowest := d.revertBlock(made, 9); lowest != 2 {
		t.Errorf("the lowest nonce in the block that has left is %d, want 2", lowest)
	}
	if lowest := d.revertBlock(made, 1); lowest != 1 {
		t.Errorf("the lowest nonce is %d, want the 1 that is lower already", lowest)
	}
}

// Only what is stored as final and in memory no more is read again, from the lowest nonce on, when a block has it.
func TestWhatIsReadAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in    []uint64 // the nonces in the block
		from  uint64
		again bool
	}{
		"a slot in memory":  {in: []uint64{4}},
		"a run":             {in: []uint64{3}},
		"not loaded yet":    {in: []uint64{6}},
		"a final one":       {in: []uint64{5}, from: 5, again: true},
		"some final ones":   {in: []uint64{5, 1, 2}, from: 1, again: true},
		"one beside others": {in: []uint64{3, 4, 5, 6}, from: 5, again: true},
	} {
		m := newMachine(settings{MaxInFlight: 9, MaxBatch: 9})
		m.rows.phase, m.loadedFrom = working, 6
		m.slots.addSlot(&slot{Slot: Slot{Index: 4, Attempts: []chain.Signed{{}}}, deliveries: make([]delivery, 1)})
		m.deep.addRuns([]*run{{Run: Run{First: 3, Last: 3, Block: chain.Block{Number: 1, Hash: "1"}}}})
		var in turned
		for _, index := range c.in {
			in.Inclusions = append(in.Inclusions, chain.Inclusion{Index: index, Hash: "x"})
		}
		if m.rows.lookForFinal(in.Inclusions); (m.rows.readFrom < noFinal) != c.again || c.again && m.rows.readFrom != c.from || (m.rows.phase == blank) != c.again {
			t.Errorf("%s: got %d in phase %v, want rows read again: %v, from %d", name, m.rows.readFrom, m.rows.phase, c.again, c.from)
		}
	}
}
