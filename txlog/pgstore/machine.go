package pgstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// machine is one node's part of a log in a database. It is pure, and not safe for concurrent use.
//
// The node knows the log up to a place: everything to there was told as stored and committed. A follower reads on from
// there. A leader that has read everything writes what comes next, one batch after the other.
type machine struct {
	poll time.Duration
	now  time.Duration
	out  []action
	ids  uint64
	over error // why it has stopped

	at     txlog.Position // up to which everything was told
	term   uint64         // the newest one that is known
	turn   *turn
	reads  reading
	finds  finding
	counts int // failed tries in a row
}

// turn is a leadership of this node.
type turn struct {
	ticket  uint64
	token   fence.Token
	leads   bool           // it was told
	ahead   []txlog.Record // appended, and not known to be committed
	sent    int            // of them: being written, or nobody knows
	writing uint64         // the write under way; 0: none
	again   time.Duration  // when to write after a failure
	failed  bool
}

// reading is what reads the records.
type reading struct {
	id      uint64 // the read under way; 0: none
	another bool   // something has happened since it began
	known   uint64 // the newest index by the read before
	next    time.Duration
}

// finding is what answers reads of users.
type finding struct {
	id    uint64
	at    uint64   // up to where this node knew the log when it began
	under []uint64 // that are asked for now
	wait  []uint64 // that have come since
}

// newMachine returns the machine of a node that knows the log up to a place.
func newMachine(at txlog.Position, poll time.Duration) *machine {
	return &machine{poll: poll, at: at, term: at.Term, reads: reading{another: true}}
}

// Step takes an input at an instant of a clock that never goes back, and returns what to do.
func (m *machine) Step(now time.Duration, in input) []action {
	m.now = now
	if m.over == nil {
		m.take(in)
	}
	if m.over == nil {
		m.pump()
	}
	out := m.out
	m.out = nil
	return out
}

func (m *machine) take(in input) {
	switch in := in.(type) {
	case lead:
		m.begin(in)
	case yield:
		if m.turn != nil && m.turn.ticket == in.Ticket {
			m.end(nil)
		}
	case appended:
		m.append(in.Record)
	case asked:
		m.finds.wait = append(m.finds.wait, in.Read)
	case noticed:
		m.reads.another = true
	case got:
		m.got(in)
	case found:
		m.found(in)
	case wrote:
		m.wrote(in)
	case tick:
	}
}

// Due returns when time alone gives the machine something to do; false if an answer or the user has to come first.
func (m *machine) Due() (at time.Duration, is bool) {
	if m.leads() {
		return m.turn.again, m.turn.failed && m.turn.writing == 0
	}
	return m.reads.next, m.over == nil && m.reads.id == 0
}

func (m *machine) do(a action) { m.out = append(m.out, a) }

func (m *machine) tell(f authority.Fact) { m.do(tell{Fact: f}) }

func (m *machine) id() uint64 {
	m.ids++
	return m.ids
}

// begin takes the node into a leadership: it has to read everything first. A read that began before may have missed
// something, so its answer does not count.
func (m *machine) begin(in lead) {
	if m.turn != nil {
		m.end(ErrReplaced)
	}
	if epoch := uint64(in.Token.Epoch); in.Token.Epoch <= 0 || epoch <= m.term {
		m.do(ended{Ticket: in.Ticket, Err: fmt.Errorf("%w: the token has epoch %d, and term %d is known", ErrSpent, in.Token.Epoch, m.term)})
		return
	}
	m.turn = &turn{ticket: in.Ticket, token: in.Token}
	m.reads = reading{another: true}
}

// end takes the node out of its leadership. What is being written may still be committed: then it is read as everything
// else.
func (m *machine) end(why error) {
	t := m.turn
	m.turn = nil
	m.reads = reading{another: true}
	if t.leads {
		m.tell(authority.Deposed{Term: m.term})
	}
	m.do(ended{Ticket: t.ticket, Err: why})
}

// stop ends everything.
func (m *machine) stop(why error) {
	m.over = why
	if m.turn != nil {
		m.end(why)
	}
	m.do(stopped{Err: why})
}

// append takes what a leader wants to be next. What does not follow ends the leadership: its user has lost count.
func (m *machine) append(r txlog.Record) {
	t := m.turn
	if t == nil || !t.leads || r.Term != m.term {
		return
	}
	last := m.at
	if n := len(t.ahead); n > 0 {
		last = t.ahead[n-1].Position()
	}
	if err := follows(last, &r); err != nil {
		m.end(err)
		return
	}
	t.ahead = append(t.ahead, r)
}

// follows checks that a record comes after a position.
func follows(at txlog.Position, r *txlog.Record) error {
	if r.Log != at.Log || r.Index != at.Index+1 || r.Prev != at.Hash || r.Term < at.Term {
		return fmt.Errorf("%w: entry %d of term %d after entry %d of term %d", txlog.ErrChain, r.Index, r.Term, at.Index, at.Term)
	}
	return nil
}

// final reports whether an error says that this node will never write under its token.
func final(err error) bool {
	return errors.Is(err, fence.ErrStale) || errors.Is(err, ErrTaken) || errors.Is(err, ErrScope)
}

// pump begins what can be begun.
func (m *machine) pump() {
	if len(m.finds.wait) > 0 && m.finds.id == 0 {
		m.finds = finding{id: m.id(), at: m.at.Index, under: m.finds.wait}
		m.do(find{ID: m.finds.id})
	}
	if m.leads() {
		m.write()
		return
	}
	if m.reads.id == 0 && (m.now >= m.reads.next || m.reads.another && m.counts == 0) {
		r := read{ID: m.id(), After: m.at.Index}
		if m.turn != nil {
			r.Token, r.Fenced = m.turn.token, true
		}
		m.reads.id, m.reads.another, m.reads.next = r.ID, false, m.now+m.poll
		m.do(r)
	}
}

// write writes what was appended, once what was written before is known to be committed. While nobody knows, the same is
// written again: if it is stored, that does nothing.
func (m *machine) write() {
	t := m.turn
	if t.writing != 0 || len(t.ahead) == 0 || t.failed && m.now < t.again {
		return
	}
	if t.sent == 0 {
		size := 0
		for t.sent < len(t.ahead) && t.sent < mostRecords && (size == 0 || size+len(t.ahead[t.sent].Raw()) <= mostBytes) {
			size += len(t.ahead[t.sent].Raw())
			t.sent++
		}
	}
	t.writing = m.id()
	m.do(write{ID: t.writing, Ticket: t.ticket, Token: t.token, Records: slices.Clone(t.ahead[:t.sent])})
}
