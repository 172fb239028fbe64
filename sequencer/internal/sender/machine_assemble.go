package sender

import (
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// assembly is one Assemble that is being answered.
type assembly struct {
	view   *book.Overlay // what the items before have left
	hidden bool          // the coordinator says that states are in use
	left   int           // bytes for attempts in the answer; below 0: it is full
	result wire.Result
}

// errFull means that the answer has no room for the attempt. The next one has.
var errFull = errors.New("its attempt did not fit into the message")

// assemble answers a coordinator's request for attempts. A repeated request gets the same answer, and one that was
// overtaken gets none: its attempts would take the place of newer ones.
func (m *Machine) assemble(from ledger.Account, request wire.RequestID, body wire.Assemble) {
	reject := func(why wire.Why, text string) { m.answer(from, request, wire.Rejected{Why: why, Text: text}) }
	switch {
	case request.Number == 0:
		return // nobody waits for an answer
	case !m.cfg.Committee.Has(string(from)):
		reject(wire.NotMember, "only the committee coordinates")
		return
	case len(body.Items) > m.cfg.Batch:
		reject(wire.Malformed, fmt.Sprintf("%d intents at once are too many, %d are not", len(body.Items), m.cfg.Batch))
		return
	case m.work == nil:
		m.answer(from, request, allEnded(body.Items))
		return
	}
	p := m.peer(from)
	m.meet(p, request.Incarnation)
	switch same := p.asked.Incarnation == request.Incarnation; {
	case same && p.asked.Number == request.Number && p.answer != nil:
		m.answer(from, request, p.answer)
		return
	case same && p.asked.Number >= request.Number:
		reject(wire.OutOfStep, "a later request has overtaken this one")
		return
	case !m.follow(p, request.Incarnation, body):
		p.asked, p.answer = request, wire.Rejected{Why: wire.OutOfStep, Text: "send the whole context"}
	default:
		p.asked, p.answer = request, m.attempts(from, p, body)
	}
	m.answer(from, request, p.answer)
}

func allEnded(items []wire.Step) wire.Assembled {
	var all wire.Assembled
	for _, item := range items {
		all.Results = append(all.Results, wire.Result{Sequence: item.Sequence, Why: wire.Ended})
	}
	return all
}

// mostContext is how many bytes of changes of a context are taken before it is asked for as a whole: it may have hidden
// and added much that it never takes back.
const mostContext = 4 * transport.MostBody

// follow brings what is known of a coordinator's context up to date, and reports whether it could.
func (m *Machine) follow(p *peer, i wire.Incarnation, body wire.Assemble) bool {
	c, size := body.Context, wire.Size(wire.Message{Body: body})
	if c.Base == 0 {
		p.context = &context{incarnation: i, view: book.Over(m.cfg.Book, m.cfg.Rules)}
	} else if p.context == nil || p.context.incarnation != i || p.context.version != c.Base {
		return false
	} else if p.context.size+size > mostContext {
		p.context = nil
		return false
	}
	p.context.version, p.context.size = c.Version, p.context.size+size
	for _, id := range c.Gone {
		p.context.view.Drop(id)
	}
	for _, id := range c.Locked {
		p.context.view.Hide(id)
	}
	for _, s := range c.Created {
		if known, is := m.cfg.Book.Known(s.ID); is {
			s = known // it was compared with its commitment
		}
		p.context.view.Add(s)
	}
	return true
}

func (m *Machine) attempts(from ledger.Account, p *peer, body wire.Assemble) wire.Body {
	view := book.Over(p.context.view, m.cfg.Rules)
	for _, id := range body.Withheld {
		view.Hide(id)
	}
	all := wire.Assembled{Results: make([]wire.Result, 0, len(body.Items))}
	step := &assembly{view: view, hidden: view.Hides() || p.context.view.Hides(), left: wire.Left(wire.Message{Contract: m.cfg.Contract.Address, Body: all}) - len(body.Items)*wire.Result{}.Size()}
	for _, item := range body.Items {
		step.result = wire.Result{Sequence: item.Sequence, Why: wire.Ended}
		if it := m.intents[item.Sequence]; it != nil {
			event := asked
			if !it.has(from, item.Delegation) {
				event = askedElsewhere
			}
			step.result.Why = m.tell(it, happening{event: event, step: step})
			if step.result.Why == wire.NotBefore {
				step.result.NotBefore = max(it.young-m.now, firstPause)
			}
		}
		all.Results = append(all.Results, step.result)
	}
	return all
}

// assembles makes an attempt, and remembers it as the one that may be granted.
func (m *Machine) assembles(it *intent, h *happening) wire.Why {
	if it.state == Delegated { // its coordinator has it, although the answer that says so is not here
		m.acknowledged(it, h)
	}
	if m.now < it.young {
		it.why = "a grant that was given before may still be used"
		return wire.NotBefore
	}
	a, err := m.carryOut(it, h.step)
	it.poor = errors.Is(err, domain.ErrConflict) && !h.step.hidden
	switch {
	case errors.Is(err, errFull):
		it.why = err.Error()
		return wire.NotBefore
	case errors.Is(err, domain.ErrNever):
		m.giveUp(it, err.Error())
		return wire.Ended
	case errors.Is(err, domain.ErrConflict):
		if it.why = err.Error(); h.step.hidden { // its user should not take that for the ledger's word
			it.why += fmt.Sprintf(", beside what %v says is in use", it.with.account)
		}
		return wire.Conflict
	case err != nil:
		if m.countFailure(it, err.Error()) {
			return wire.Ended
		}
		return wire.Failed
	}
	m.to(it, Accepted)
	it.attempt, it.why = a, ""
	h.step.result.Whole = a.Whole
	return wire.Done
}

// countFailure counts a failure without a good reason, and reports whether it was the last one (D20).
func (m *Machine) countFailure(it *intent, why string) (last bool) {
	it.failures++
	it.why = why
	m.mark(Mark{Sequence: it.Sequence, Failures: it.failures})
	if it.failures < m.cfg.Tries {
		return false
	}
	m.giveUp(it, fmt.Sprintf("it failed %d times, at last: %s", it.failures, why))
	return true
}

// failed counts what others say against the intent, and moves it.
func (m *Machine) failed(it *intent, h *happening) wire.Why {
	if h.event == skippedFaulty {
		m.over(it, h.hash)
	}
	if h.event == returnedFaulty && !m.believe(it) {
		return m.moved(it, h)
	}
	if !m.countFailure(it, h.fault) {
		m.moved(it, h)
	}
	return wire.Done
}

// carryOut asks the rules, and changes the view as the attempt would change the states.
func (m *Machine) carryOut(it *intent, step *assembly) (*GrantRow, error) {
	if step.left < 0 {
		return nil, errFull // it stays behind the one before (I4)
	}
	view := step.view
	m.assembled++
	draft, err := ask(m.cfg.Rules, domain.Call{Intent: it.name(m.cfg.Self), Payload: it.Payload}, view)
	if err != nil {
		return nil, err
	}
	a := &GrantRow{Given: grants.Given{Intent: it.name(m.cfg.Self)}, Whole: wire.Whole{Payload: it.Payload, Attempt: draftOf(draft)}}
	made := &a.Whole.Attempt
	made.Intent, made.Payload = a.Intent, it.hash
	for _, id := range slices.Concat(made.Inputs, made.Reads) {
		if _, is := view.State(id); !is {
			return nil, fmt.Errorf("the rules use %v, which is not there", id)
		}
		a.Needs = append(a.Needs, m.need(id))
	}
	for i, data := range draft.Outputs {
		s := domain.Secret{Salt: m.salt(it.Sequence, i), Data: data}
		a.Whole.Outputs = append(a.Whole.Outputs, s)
		made.Outputs = append(made.Outputs, s.Commitment())
	}
	if err := a.Whole.Check(); err != nil {
		return nil, err
	}
	if step.left -= a.Whole.Size(); step.left < 0 {
		return nil, errFull
	}
	if a.Assembled, err = m.cfg.Book.Hear(a.Whole); err != nil {
		return nil, err
	}
	for _, id := range made.Inputs {
		view.Hide(id)
	}
	for i, s := range a.Whole.Outputs {
		view.Add(domain.State{ID: m.cfg.Scheme.State(a.Assembled, i), Creator: made.Intent, Assembled: a.Assembled, Secret: s})
	}
	return a, nil
}

// need says which attempt creates a state. A coordinator's word for it is not taken: with a wrong creator the ledger
// would be read as if it had killed a grant. Without one the state kills nothing.
func (m *Machine) need(id ledger.StateID) grants.Need {
	s, is := m.cfg.Book.Known(id)
	if !is {
		return grants.Need{State: id}
	}
	return grants.Need{State: id, Creator: s.Creator, Assembled: s.Assembled}
}

// salt returns one that nobody can guess, and that no other output has.
func (m *Machine) salt(s ledger.Sequence, index int) (salt [16]byte) {
	return saltOf(m.cfg.Secret, m.cfg.Incarnation, s, m.assembled, index)
}

// has reports whether the intent is with a node under a delegation.
func (it *intent) has(from ledger.Account, under ledger.Hash) bool {
	return it.with != nil && it.with.account == from && it.under == under
}
