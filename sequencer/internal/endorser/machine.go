package endorser

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Machine decides what one member endorses. It is not safe for concurrent use.
type Machine struct {
	set      Config
	requests map[Request]*request
	order    []*request // in the order in which they were asked, so that equal inputs have equal actions
	checks   int        // requests that are checked
	height   ranking.Height
	away     []ledger.Account
	now      time.Duration
}

// request is one that is not unknown.
type request struct {
	Request
	state    state
	verdicts []wire.Verdict
	open     []int         // the verdicts that the rules are asked for
	until    time.Duration // when nobody waits for the answer any more
}

// New returns the machine of a config that Validate finds good.
func New(c Config) *Machine {
	m := &Machine{set: c.withDefaults(), requests: map[Request]*request{}}
	m.height.Note(c.Final)
	return m
}

// Step takes an input at a time of the node's monotonic clock, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	switch in := in.(type) {
	case Received:
		if in.Message.Request == (wire.RequestID{}) {
			return nil // a notice: nobody waits for an answer
		}
		return m.happens(Request{in.From, in.Message.Request}, m.classify(in), in)
	case Checked:
		return m.happens(in.Of, checked, in)
	case Away:
		m.away = slices.Clone(in.Members)
	case Tick:
		return m.lapse()
	case ledger.Block:
		if in.Number >= m.set.Contract.Depth {
			m.height.Note(in.Number - m.set.Contract.Depth)
		}
	case ledger.Rewind: // a height never decreases
	}
	return nil
}

// Idle reports whether the machine needs no Tick.
func (m *Machine) Idle() bool { return len(m.requests) == 0 }

// happens looks an event up in the table.
func (m *Machine) happens(of Request, e event, in Input) []Action {
	r := m.requests[of]
	if r == nil {
		r = &request{Request: of, state: unknown}
	}
	c := table[r.state][e]
	switch {
	case c.do != nil:
		return c.do(m, r, in)
	case c.refused != wire.Done:
		received, _ := in.(Received)
		return m.send(of, wire.Rejected{Why: c.refused, Text: m.text(e, received)})
	default:
		return nil
	}
}

// classify returns what kind of question it is.
func (m *Machine) classify(in Received) event {
	body, _ := in.Message.Body.(wire.Endorse)
	own := m.own()
	switch {
	case len(body.Attempts) == 0 || len(body.Attempts)+len(body.Upstream) > m.set.Attempts:
		return askedNonsense
	case !m.set.Committee.Has(string(in.From)):
		return askedByStranger
	case !m.set.window().Takes(own, body.Range) && body.Range < own:
		return askedTooOld
	case !m.set.window().Takes(own, body.Range):
		return askedTooNew
	case m.set.Strict && m.selected(own) != in.From:
		return askedByOther
	case m.checks >= m.set.Most || m.checksOf(in.From) >= mostOfOne:
		return askedTooMuch
	default:
		return asked
	}
}

// mostOfOne is how many requests of one member are checked at a time: an honest one has half as many, and one that asks
// without end takes the place of nobody else.
const mostOfOne = 8

func (m *Machine) checksOf(from ledger.Account) (n int) {
	for _, r := range m.order {
		if r.From == from && r.state == checking {
			n++
		}
	}
	return n
}

// own returns the range of this node's height.
func (m *Machine) own() ranking.Range {
	final, _ := m.height.Final()
	return m.set.Committee.RangeOf(final)
}

// selected returns who coordinates a range, as far as this node hears (P8, P25).
func (m *Machine) selected(r ranking.Range) ledger.Account {
	for _, name := range m.set.Committee.Order(r) {
		if a := ledger.Account(name); !slices.Contains(m.away, a) {
			return a
		}
	}
	return ""
}

// text says to an operator why a request is refused.
func (m *Machine) text(e event, in Received) string {
	body, _ := in.Message.Body.(wire.Endorse)
	switch e {
	case askedNonsense:
		return fmt.Sprintf("a request has 1 to %d attempts", m.set.Attempts)
	case askedByStranger:
		return "the node is not in the contract's committee"
	case askedTooOld, askedTooNew:
		return fmt.Sprintf("the request is for range %d, and here it is range %d", body.Range, m.own())
	case askedByOther:
		if by := m.selected(m.own()); by != "" {
			return fmt.Sprintf("in range %d %v coordinates", m.own(), by)
		}
		return "this node hears nobody of the committee"
	case askedTooMuch:
		return fmt.Sprintf("%d requests are checked, and %d of them are yours", m.checks, m.checksOf(in.From))
	default:
		return ""
	}
}

func (m *Machine) send(of Request, body wire.Body) []Action {
	final, _ := m.height.Final()
	return []Action{Send{To: of.From, Message: wire.Message{Contract: m.set.Contract.Address, Height: final, Request: of.ID, Body: body}}}
}

// propose makes the proposal of an attempt, or says which state is not known here.
func (m *Machine) propose(w wire.Whole) (p domain.Proposal, lacks string) {
	p = domain.Proposal{Intent: w.Attempt.Intent, Payload: w.Payload, Data: w.Attempt.Data}
	for _, o := range w.Outputs {
		p.Outputs = append(p.Outputs, o.Data)
	}
	for _, id := range w.Attempt.Inputs {
		s, is := m.set.Book.Known(id)
		if !is {
			return p, fmt.Sprintf("the input %v is not known here", id)
		}
		p.Inputs = append(p.Inputs, s)
	}
	for _, id := range w.Attempt.Reads {
		s, is := m.set.Book.Known(id)
		if !is {
			return p, fmt.Sprintf("the read %v is not known here", id)
		}
		p.Reads = append(p.Reads, s)
	}
	return p, ""
}
