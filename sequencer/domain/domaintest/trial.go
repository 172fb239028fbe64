package domaintest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/ledger"
)

// trial carries the requests out.
type trial struct {
	domain.Rules
	Fixture
}

// step is a request that was carried out.
type step struct {
	request  string
	call     domain.Call
	view     func() domain.View // with the states that were there before
	others   []domain.State     // that were there, and were not used
	draft    domain.Draft
	proposal domain.Proposal
}

// nothing is a view without states.
type nothing struct{}

func (nothing) State(ledger.StateID) (s domain.State, is bool) { return s, false }

func (nothing) Labelled(string, uint64) iter.Seq[domain.State] {
	return func(func(domain.State) bool) {}
}

// steps carries out all requests, or says why it cannot.
func (t *trial) steps() (all []step, err error) {
	var there []domain.State
	for i, request := range t.Requests {
		s := step{request: request, call: domain.Call{Intent: ledger.Intent{Owner: t.Owner, Sequence: ledger.Sequence{Counter: uint64(i)}}}}
		if s.call.Payload, err = t.Prepare([]byte(request)); err != nil {
			return nil, fmt.Errorf("Prepare refuses %s: %w", request, err)
		}
		before := slices.Clone(there)
		s.view = func() domain.View {
			o := book.Over(nothing{}, t.Rules)
			for _, s := range before {
				o.Add(s)
			}
			return o
		}
		if s.draft, err = t.Assemble(clone(s.call), s.view()); err != nil {
			return nil, fmt.Errorf("%s cannot be carried out on the %d states there: %w", request, len(there), err)
		}
		var created []domain.State
		if created, err = s.propose(); err != nil {
			return nil, fmt.Errorf("%s: %w", request, err)
		}
		used := slices.Concat(s.draft.Inputs, s.draft.Reads)
		s.others = slices.DeleteFunc(slices.Clone(there), func(x domain.State) bool { return slices.Contains(used, x.ID) })
		there = append(slices.DeleteFunc(there, func(x domain.State) bool { return slices.Contains(s.draft.Inputs, x.ID) }), created...)
		all = append(all, s)
	}
	return all, nil
}

// propose makes the proposal of a draft, and returns the states that it creates.
func (s *step) propose() (created []domain.State, err error) {
	p := domain.Proposal{Intent: s.call.Intent, Payload: s.call.Payload, Outputs: s.draft.Outputs, Data: s.draft.Data}
	a := ledger.Attempt{Intent: p.Intent, Payload: domain.PayloadHash(p.Payload), Data: p.Data}
	a.Inputs, a.Reads = slices.Clone(s.draft.Inputs), slices.Clone(s.draft.Reads)
	slices.SortFunc(a.Inputs, ledger.StateID.Compare)
	slices.SortFunc(a.Reads, ledger.StateID.Compare)
	if !a.WellFormed() {
		return nil, fmt.Errorf("Assemble uses a state twice: inputs %v, reads %v", a.Inputs, a.Reads)
	}
	for used, ids := range map[*[]domain.State][]ledger.StateID{&p.Inputs: a.Inputs, &p.Reads: a.Reads} {
		for _, id := range ids {
			state, is := s.view().State(id)
			if !is {
				return nil, fmt.Errorf("Assemble uses the state %v, which is not in its view", id)
			}
			*used = append(*used, state)
		}
	}
	secrets := make([]domain.Secret, len(p.Outputs))
	for i, data := range p.Outputs {
		secrets[i] = domain.Secret{Salt: [16]byte{byte(i)}, Data: bytes.Clone(data)}
		a.Outputs = append(a.Outputs, secrets[i].Commitment())
	}
	assembled := ledger.Plain{}.Assembled(ledger.Contract{}, a)
	for i, secret := range secrets {
		created = append(created, domain.State{ID: ledger.Plain{}.State(assembled, i), Creator: p.Intent, Assembled: assembled, Secret: secret})
	}
	s.proposal = p
	return created, nil
}

func clone(c domain.Call) domain.Call {
	c.Payload = bytes.Clone(c.Payload)
	return c
}

// copied returns a proposal that shares nothing with the other.
func copied(p domain.Proposal) domain.Proposal {
	p.Payload, p.Data = bytes.Clone(p.Payload), bytes.Clone(p.Data)
	p.Inputs, p.Reads, p.Outputs = slices.Clone(p.Inputs), slices.Clone(p.Reads), slices.Clone(p.Outputs)
	for _, states := range [][]domain.State{p.Inputs, p.Reads} {
		for i := range states {
			states[i].Data = bytes.Clone(states[i].Data)
		}
	}
	for i := range p.Outputs {
		p.Outputs[i] = bytes.Clone(p.Outputs[i])
	}
	return p
}

// equal compares what is proposed.
func equal(p, q domain.Proposal) bool {
	same := func(x, y domain.State) bool { return x.ID == y.ID && bytes.Equal(x.Data, y.Data) }
	return p.Intent == q.Intent && bytes.Equal(p.Payload, q.Payload) && bytes.Equal(p.Data, q.Data) &&
		slices.EqualFunc(p.Inputs, q.Inputs, same) && slices.EqualFunc(p.Reads, q.Reads, same) && slices.EqualFunc(p.Outputs, q.Outputs, bytes.Equal)
}
