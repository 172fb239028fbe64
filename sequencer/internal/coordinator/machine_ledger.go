package coordinator

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// block takes the next block. The book has it already.
func (m *Machine) block(b ledger.Block) {
	m.head = b.Number
	m.seen++
	m.nudgeAt = 0
	for _, f := range b.Facts {
		m.fact(f)
	}
	m.height.Note(m.deepest())
	m.settle()
	m.expire()
	m.sweep()
	m.judged()
	m.turned()
	m.changedReady = true
}

func (m *Machine) fact(f ledger.Fact) {
	mine := false
	m.reason = f.Skipped
	all := slices.Clone(m.tenure.inherited[f.Intent])
	if w := m.works[f.Intent]; w != nil {
		all = append(all, w)
	}
	for _, w := range all {
		same := w.assembled == f.Assembled && f.Assembled != (ledger.Hash{})
		switch {
		case f.Skipped == ledger.Taken && same:
			mine = mine || w.boarded
			m.tell(w, taken)
		case f.Skipped == ledger.Taken:
			if w.state != included { // a second one cannot be; a lying ledger is not this machine's to mend
				m.tell(w, superseded)
			}
		case same && ofTheAttempt(f.Skipped):
			m.tell(w, skipped)
		}
	}
	if f.Skipped == ledger.Taken && !mine {
		m.foreign(f)
	}
}

// ofTheAttempt reports whether a reason says something about the attempt, no matter who sent it. Anybody can copy an entry from
// the ledger's pool, and have it skipped as expired or not granted: the ledger looks at those before it looks at the rest.
// If it is true, the grant's last block comes.
func ofTheAttempt(r ledger.Reason) bool {
	return r != ledger.Repeated && r != ledger.Expired && r != ledger.NotGranted
}

// foreign takes what another coordinator has landed: whatever needs the same states is overtaken. Until it is final it
// stays on board, so that nobody is offered what it has spent.
func (m *Machine) foreign(f ledger.Fact) {
	whole, is := m.set.Book.Whole(f.Assembled)
	if !is {
		return // what needs its states will be skipped
	}
	touches := false
	for _, id := range whole.Attempt.Inputs {
		if by := m.flight.spends[id]; by != nil && by.state != included {
			m.tell(by, overtaken)
			touches = true
		}
		_, made := m.flight.creates[id]
		touches = touches || made
	}
	switch {
	case m.inheritedOf(f.Intent, f.Assembled) != nil:
		return
	case !touches:
		m.strange[m.head] = append(m.strange[m.head], f.Assembled)
		return
	}
	w := m.importOf(whole, f.Assembled)
	m.tell(w, taken)
}

// settle forgets what is final: works in blocks that became so, and those whose grant has no block left.
func (m *Machine) settle() {
	m.reason = ledger.Expired
	deepest := m.deepest() // also of a chain that went back below what was final: there it is less than that
	for _, n := range due(deepest, m.blocks, m.lasting) {
		for _, list := range []map[uint64][]*work{m.blocks, m.lasting} {
			for _, w := range list[n] {
				if w.state == included && w.block == n || w.state == dispatched {
					m.tell(w, final)
				}
			}
			delete(list, n)
		}
	}
	maps.DeleteFunc(m.strange, func(n uint64, _ []ledger.Hash) bool { return n <= deepest })
}

// expire has what is dispatched reviewed at once when the last block of some of it is there: what waits in the submitter
// would be signed for nothing.
func (m *Machine) expire() {
	if slices.ContainsFunc(m.lasting[m.head], func(w *work) bool { return w.state == dispatched }) {
		m.reviewAt = m.now
	}
}

// due returns the blocks up to one at which something waits, the first one first: there may be millions between them.
func due(until uint64, lists ...map[uint64][]*work) (numbers []uint64) {
	for _, list := range lists {
		for n := range list {
			if n <= until {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// nudge asks for a block when an entry that is dispatched waits for one and none comes (Q6). Mostly its sender does that
// sooner; but it may have lost its row.
func (m *Machine) nudge() {
	if m.flying == 0 {
		m.nudgeAt = 0
		return
	}
	switch {
	case m.nudgeAt == 0:
		m.nudgeAt = m.now + m.set.NudgeAfter
	case m.now >= m.nudgeAt:
		m.nudgeAt = m.now + 2*m.set.NudgeAfter
		m.do(Nudge{})
	}
}

// lasts notes the last block for which a work is waited: that of its grant, but not longer than any that is well meant. It
// locks its states until then. What was inherited may be withheld, and others like it may come at each turn: that locks them for half
// of a grant's life, and of a range.
func (m *Machine) lasts(w *work) {
	most := 4 * m.set.Contract.Life
	if w.inherited {
		most = min(m.set.Contract.Life/2, m.set.Contract.Range/2)
	}
	w.until = w.grant.ValidUntil
	if w.until > m.head && w.until-m.head > most {
		w.until = m.head + most
	}
	m.lasting[w.until] = append(m.lasting[w.until], w)
}

// lastsAgain says until when a work can land again that has left its block.
func (m *Machine) lastsAgain(w *work) {
	if w.grant.ValidUntil == 0 { // it was seen in a block only
		w.grant.ValidUntil = m.head + m.set.Contract.Life
	}
	if !slices.Contains(m.lasting[w.until], w) {
		m.lasts(w)
	}
}

// rewind takes blocks back.
func (m *Machine) rewind(to uint64) {
	m.seen++
	for _, n := range slices.Backward(due(m.head, m.blocks)) {
		if n <= to {
			break
		}
		for _, w := range m.blocks[n] {
			if w.state == included && w.block == n {
				m.tell(w, rewound)
				m.lastsAgain(w)
			}
		}
		delete(m.blocks, n)
	}
	for _, n := range slices.Sorted(maps.Keys(m.strange)) {
		if n > to {
			for _, h := range m.strange[n] {
				m.comesBack(h)
			}
			delete(m.strange, n)
		}
	}
	m.head = min(m.head, to)
}

// comesBack waits for what others have landed in a block that is gone, while this node coordinates. It is on its way again, and may have been
// handed over: then it was in a block, and nothing was noted.
func (m *Machine) comesBack(assembled ledger.Hash) {
	whole, is := m.set.Book.Whole(assembled)
	if own := m.works[whole.Attempt.Intent]; !is || !m.tenure.active || own != nil && own.assembled == assembled {
		return
	}
	m.lastsAgain(m.importOf(whole, assembled))
}

// load takes what was dispatched before this start. It is submitted again (P40) when this node has followed the ledger to
// the block that Judge has read: until then it does not know what landed while it was down.
func (m *Machine) load(rows []Row) {
	var judge Judge
	for _, r := range rows {
		hash, err := m.set.Book.Hear(r.Whole)
		if err != nil {
			continue // it was heard before it was stored
		}
		c := m.client(r.Attempt.Owner)
		m.seats++
		w := &work{
			Intent: r.Attempt.Intent, owner: c, payload: r.Attempt.Payload, order: m.seats, seat: m.seats, state: dispatched,
			whole: r.Whole, assembled: hash, signed: r.Endorsements, grant: r.Grant, noted: r.Noted, stored: true,
		}
		c.works[w.Sequence], m.works[w.Intent] = w, w
		c.digest.Add(w.Sequence, 1)
		m.flight.board(w, m.set.Scheme)
		m.inFlight++
		m.flying++
		m.lasts(w)
		m.judging = append(m.judging, w)
		judge.Given = append(judge.Given, grants.Given{Intent: w.Intent, Assembled: hash, ValidUntil: w.grant.ValidUntil})
	}
	if len(rows) == 0 {
		return
	}
	m.reviewSoon()
	m.do(judge)
	m.untell(m.judging)
}

// judged drops what the ledger had decided before this start, and submits the rest. It waits until this node has followed
// the ledger to the block by which that was judged: until then the row may be the only place that has the attempt's
// contents.
func (m *Machine) judged() {
	if m.verdicts == nil || m.final() < m.verdicts.Number {
		return
	}
	var left []*work
	for i, w := range m.judging {
		switch {
		case w.state != dispatched:
		case i < len(m.verdicts.Ends) && m.verdicts.Ends[i] != grants.Alive:
			m.reason = reasonOf(m.verdicts.Ends[i])
			m.tell(w, final)
		default:
			left = append(left, w)
		}
	}
	m.judging, m.verdicts = nil, nil
	m.sweep()
	m.submit(m.entries(slices.DeleteFunc(left, func(w *work) bool { return w.doomed })))
	m.changedReady = true
}

// importOf takes an attempt of another coordinator on board.
func (m *Machine) importOf(whole wire.Whole, hash ledger.Hash) *work {
	m.seats++
	w := &work{
		Intent: whole.Attempt.Intent, owner: m.client(whole.Attempt.Owner), state: dispatched, inherited: true,
		whole: whole, assembled: hash, seat: m.seats,
	}
	if !slices.ContainsFunc(whole.Attempt.Inputs, func(id ledger.StateID) bool { return m.flight.spends[id] != nil }) {
		m.flight.board(w, m.set.Scheme) // else it is waited for, and the ledger says which of two is first
	}
	if m.tenure.inherited == nil {
		m.tenure.inherited = map[ledger.Intent][]*work{}
	}
	m.flying++
	m.tenure.inherited[w.Intent] = append(m.tenure.inherited[w.Intent], w)
	return w
}
