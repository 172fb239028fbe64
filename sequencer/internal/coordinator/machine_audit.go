package coordinator

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Audit counts again what the machine counts as it goes, and looks for each piece of work where its state says that it
// is: what is nowhere would wait for ever. It is for tests, and costs as much as there is work. It returns what is wrong.
func (m *Machine) Audit() []string {
	a := &audit{m: m, lists: map[*work]int{}, owed: map[*work]int{}, made: map[ledger.StateID]*work{}}
	a.collect()
	for _, w := range a.all {
		a.place(w)
		a.states(w)
	}
	a.counters()
	for _, c := range m.order {
		a.client(c)
	}
	a.flight()
	return a.found
}

type audit struct {
	m     *Machine
	all   []*work
	lists map[*work]int            // how often it waits to be assembled
	owed  map[*work]int            // members that owe a verdict, or were asked for it
	made  map[ledger.StateID]*work // by what is on board, also if it is not offered
	found []string
}

func (a *audit) must(holds bool, text string, args ...any) {
	if !holds {
		a.found = append(a.found, fmt.Sprintf(text, args...))
	}
}

func (a *audit) collect() {
	m := a.m
	for _, w := range m.works {
		a.all = append(a.all, w)
	}
	for _, works := range m.tenure.inherited {
		a.all = append(a.all, works...)
	}
	for _, w := range a.all {
		for i := range w.whole.Outputs {
			a.made[m.set.Scheme.State(w.assembled, i)] = w
		}
	}
	count := func(list []listed) {
		for _, l := range list {
			if l.waits() {
				a.lists[l.work]++
			}
		}
	}
	for _, c := range m.order {
		count(c.fresh)
		count(c.again)
		count(c.blocked)
	}
	count(m.delayed)
	for _, one := range m.members {
		for _, o := range one.owed {
			if o.waits() {
				a.owed[o.work]++
			}
		}
	}
	for _, ask := range m.asks {
		for i, w := range ask.works {
			if ask.kind == wire.KindEndorse && ask.same(i) {
				a.owed[w]++
			}
		}
	}
}

// place looks for a piece of work where its state says that it is.
func (a *audit) place(w *work) {
	m, is := a.m, false
	switch w.state {
	case pooled:
		is = a.lists[w] == 1
	case assembling:
		is = w.request != nil && w.request == w.owner.asking
	case endorsing:
		is = len(w.signed)+w.against+a.owed[w] == len(m.members)
	case ready:
		is = slices.Contains(m.ready, w)
	case granting:
		for _, ask := range m.asks {
			is = is || ask == w.request
		}
	case storing:
		for _, works := range m.stores {
			is = is || slices.Contains(works, w)
		}
	case dispatched:
		is = slices.Contains(m.lasting[w.until], w)
	case included:
		is = w.block > m.deepest() && slices.Contains(m.blocks[w.block], w)
	case over, states:
	}
	a.must(is, "%v is %v and waits nowhere, or twice (signed %d, against %d, owed %d, listed %d)", w.Sequence, w.state, len(w.signed), w.against, a.owed[w], a.lists[w])
}

func (a *audit) states(w *work) {
	m := a.m
	if !w.inherited {
		onBoard := w.state >= endorsing
		a.must(w.boarded == onBoard, "%v is %v, and on board: %v", w.Sequence, w.state, w.boarded)
		a.must(w.owner.works[w.Sequence] == w, "%v is not with its owner", w.Sequence)
	}
	if !w.boarded {
		a.must(len(w.outputs) == 0, "%v is not on board and has outputs", w.Sequence)
		return
	}
	a.must(!w.doomed || len(w.outputs) == 0, "%v is doomed, and its states are offered", w.Sequence)
	if w.state > assembling && w.state < included && !w.doomed {
		for _, id := range slices.Concat(w.whole.Attempt.Inputs, w.whole.Attempt.Reads) {
			if made := a.made[id]; made != nil && made.doomed {
				a.must(m.set.Book.Unspent(id), "%v is built on %v, which is doomed", w.Sequence, made.Sequence)
			}
		}
	}
	for _, id := range w.outputs {
		a.must(m.flight.creates[id].by == w, "%v: its output %v is not its own", w.Sequence, id)
	}
	for _, id := range w.whole.Attempt.Inputs {
		a.must(m.flight.spends[id] == w, "%v: its input %v is not its own", w.Sequence, id)
	}
	for _, id := range w.whole.Attempt.Reads {
		a.must(slices.Contains(m.flight.readers[id], w), "%v: it does not read %v", w.Sequence, id)
	}
}

func (a *audit) counters() {
	m, flying, inFlight := a.m, 0, 0
	for _, w := range a.all {
		flying += waits(w.state)
		if w.boarded && !w.inherited && w.state != included {
			inFlight++
		}
	}
	a.must(flying == m.flying, "%d are dispatched, and %d are counted", flying, m.flying)
	a.must(inFlight == m.inFlight, "%d are in flight, and %d are counted", inFlight, m.inFlight)
	asking := map[ledger.Account]int{}
	for _, ask := range m.asks {
		if ask.kind == wire.KindEndorse {
			asking[ask.to]++
		}
	}
	for _, one := range m.members {
		a.must(one.asking == asking[one.account], "%v has %d requests, and %d are counted", one.account, asking[one.account], one.asking)
	}
	for _, l := range m.losers {
		c := l.client
		a.must(c.lost == l, "a turn is nobody's")
		a.must(!l.turn || c.asking != nil && c.asking.turn == l, "a turn has begun, and nothing is asked")
		a.must(l.turn || len(c.fresh)+len(c.again) > 0, "a turn is to come, and there is nothing to ask")
	}
}

func (a *audit) client(c *client) {
	var digest wire.Digest
	intact := map[*delegation]int{}
	for _, w := range c.works {
		a.must(a.m.works[w.Intent] == w, "%v is only with its owner", w.Sequence)
		if w.state != included {
			digest.Add(w.Sequence, 1)
		}
		intact[w.delegation]++
	}
	a.must(digest == c.digest, "%v has %d, and %d are counted", c.account, digest.Count, c.digest.Count)
	for d, n := range intact {
		a.must(d == nil || c.delegations[d.id] == d && d.intact == n, "a delegation of %v has %d, and %d are counted", c.account, n, intact[d])
	}
	for _, d := range c.delegations {
		a.must(intact[d] > 0, "a delegation of %v has nothing", c.account)
	}
	is := c.asking == nil
	for _, ask := range a.m.asks {
		is = is || ask == c.asking
	}
	a.must(is, "%v is asked for nothing, for ever", c.account)
	a.must(c.lost == nil || slices.Contains(a.m.losers, c.lost), "%v waits for a turn that never comes", c.account)
	if left := len(c.fresh) + len(c.again) + len(c.blocked) + len(c.untold); len(c.works) == 0 {
		a.must(left == 0, "%v has no work, and %d places in lists", c.account, left)
	}
}

// flight looks for locks of what is not on board.
func (a *audit) flight() {
	f := a.m.flight
	known := map[*work]bool{}
	for _, w := range a.all {
		known[w] = w.boarded
	}
	for id, w := range f.spends {
		a.must(known[w], "%v is locked by what is not here", id)
	}
	for id, o := range f.creates {
		a.must(known[o.by], "%v is created by what is not here", id)
	}
	for id, works := range f.readers {
		for _, w := range works {
			a.must(known[w], "%v is read by what is not here", id)
		}
	}
	most := 2 * (1024 + 4*(len(f.spends)+len(f.creates)))
	a.must(len(f.changes) <= most && (len(a.all) > 0 || len(f.changes) == 0), "%d changes are kept of %d states", len(f.changes), len(f.spends)+len(f.creates))
}
