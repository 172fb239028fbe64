package endorser

import (
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
)

// judge begins with a request: what its form decides is decided, and the rules are asked for the rest.
func (m *Machine) judge(r *request, in Input) []Action {
	received, _ := in.(Received)
	body, _ := received.Message.Body.(wire.Endorse)
	m.requests[r.Request] = r
	m.order = append(m.order, r)
	r.until = m.now + min(received.Message.Wait, m.set.Remember)
	for _, w := range body.Upstream {
		_, _ = m.set.Book.Hear(w) // what is malformed stays unknown, and what needs it is a conflict
	}
	var proposals []domain.Proposal
	for i, w := range body.Attempts {
		v := wire.Verdict{Why: wire.Failed, Text: "the rules did not say"}
		assembled, err := m.set.Book.Hear(w) // each may use what those before it create
		v.Assembled = assembled
		if err != nil {
			v.Why, v.Text = wire.Refused, err.Error()
		} else if p, lacks := m.propose(w); lacks != "" {
			v.Why, v.Text = wire.Conflict, lacks
		} else {
			proposals, r.open = append(proposals, p), append(r.open, i)
		}
		r.verdicts = append(r.verdicts, v)
	}
	if len(proposals) == 0 {
		return m.answer(r)
	}
	r.state = checking
	m.checks++
	return []Action{Check{Of: r.Request, Proposals: proposals}}
}

// conclude writes down what the rules say.
func (m *Machine) conclude(r *request, in Input) []Action {
	done, _ := in.(Checked)
	for i, at := range r.open {
		if i < len(done.Outcomes) {
			r.verdicts[at].Why, r.verdicts[at].Text = done.Outcomes[i].Why, done.Outcomes[i].Text
		}
	}
	m.checks--
	return m.answer(r)
}

func (m *Machine) answer(r *request) []Action {
	r.state, r.open = answered, nil
	return m.send(r.Request, wire.Endorsed{Verdicts: slices.Clone(r.verdicts)})
}

// repeat sends an answer again.
func (m *Machine) repeat(r *request, _ Input) []Action { return m.answer(r) }

func (m *Machine) forget(r *request, _ Input) []Action {
	r.state = unknown
	delete(m.requests, r.Request)
	return nil
}

// lapse ends the requests for which nobody waits, and the oldest answers if there are too many.
func (m *Machine) lapse() (all []Action) {
	for _, r := range m.order {
		if m.now >= r.until || len(m.requests)-m.checks > 4*m.set.Most {
			all = append(all, m.happens(r.Request, lapsed, Tick{})...)
		}
	}
	m.order = slices.DeleteFunc(m.order, func(r *request) bool { return r.state == unknown })
	return all
}
