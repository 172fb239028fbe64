package domaintest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// mutant is a proposal with one thing changed.
type mutant struct {
	what string
	domain.Proposal
}

// mutants returns all that are nearly what was proposed.
func mutants(s step, payloads [][]byte) (all []mutant) {
	add := func(what string, change func(p *domain.Proposal)) {
		p := copied(s.proposal)
		change(&p)
		all = append(all, mutant{what, p})
	}
	for _, payload := range payloads {
		add("another payload", func(p *domain.Proposal) { p.Payload = payload })
	}
	for i := range s.proposal.Payload {
		add("a byte of the payload", func(p *domain.Proposal) { p.Payload[i] ^= 1 })
	}
	add("a longer payload", func(p *domain.Proposal) { p.Payload = append(p.Payload, ' ') })
	add("other data", func(p *domain.Proposal) { p.Data = append(p.Data, 'x') })
	for i, data := range s.proposal.Outputs {
		for at := range data {
			add("a byte of an output", func(p *domain.Proposal) { p.Outputs[i][at] ^= 1 })
		}
		add("a longer output", func(p *domain.Proposal) { p.Outputs[i] = append(p.Outputs[i], ' ') })
		add("an output less", func(p *domain.Proposal) { p.Outputs = slices.Delete(p.Outputs, i, i+1) })
		add("an output more", func(p *domain.Proposal) { p.Outputs = append(p.Outputs, data) })
		if i > 0 {
			add("outputs in another order", func(p *domain.Proposal) { p.Outputs[0], p.Outputs[i] = p.Outputs[i], p.Outputs[0] })
		}
	}
	for i := range s.proposal.Inputs {
		add("an input less", func(p *domain.Proposal) { p.Inputs = slices.Delete(p.Inputs, i, i+1) })
		add("an input twice", func(p *domain.Proposal) { p.Inputs = slices.Insert(p.Inputs, i, p.Inputs[i]) })
		add("a read instead of an input", func(p *domain.Proposal) {
			p.Reads, p.Inputs = append(p.Reads, p.Inputs[i]), slices.Delete(p.Inputs, i, i+1)
		})
	}
	for i := range s.proposal.Reads {
		add("a read less", func(p *domain.Proposal) { p.Reads = slices.Delete(p.Reads, i, i+1) })
	}
	for _, other := range s.others {
		add("an input more", func(p *domain.Proposal) { p.Inputs = append(p.Inputs, other) })
		add("a read more", func(p *domain.Proposal) { p.Reads = append(p.Reads, other) })
	}
	return all
}

// anyBytes: what comes from other members makes no node panic.
func anyBytes(t *trial) error {
	all, err := t.steps()
	if err != nil {
		return err
	}
	chance := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // it has to replay
	for range 300 {
		for _, s := range all {
			p := copied(s.proposal)
			for _, part := range parts(&p) {
				if chance.IntN(3) == 0 {
					*part = noise(chance, *part)
				}
			}
			_ = t.Endorse(copied(p))
			_, _ = t.Prepare(slices.Clone(p.Payload))
			for _, part := range parts(&p) {
				t.Label(*part)
			}
			call := s.call
			call.Payload = p.Payload
			spoilt := strange{chance, slices.Concat(s.proposal.Inputs, s.proposal.Reads, s.others)}
			_, _ = t.Assemble(s.call, spoilt)
			if _, err := t.Assemble(call, s.view()); errors.Is(err, domain.ErrConflict) && errors.Is(err, domain.ErrNever) {
				return fmt.Errorf("Assemble says that %q can never be carried out, and that it can later", p.Payload)
			}
		}
	}
	return nil
}

// strange is a view of states that nobody should have endorsed, under every label.
type strange struct {
	chance *rand.Rand
	states []domain.State
}

func (v strange) State(id ledger.StateID) (domain.State, bool) {
	for s := range v.Labelled("", 0) {
		if s.ID == id {
			return s, true
		}
	}
	return domain.State{}, false
}

func (v strange) Labelled(string, uint64) iter.Seq[domain.State] {
	return func(yield func(domain.State) bool) {
		for _, s := range v.states {
			if s.Data = noise(v.chance, s.Data); !yield(s) {
				return
			}
		}
	}
}

func parts(p *domain.Proposal) []*[]byte {
	all := []*[]byte{&p.Payload, &p.Data}
	for _, states := range [][]domain.State{p.Inputs, p.Reads} {
		for i := range states {
			all = append(all, &states[i].Data)
		}
	}
	for i := range p.Outputs {
		all = append(all, &p.Outputs[i])
	}
	return all
}

// noise returns other bytes: some changed, cut off, repeated, or all new.
func noise(chance *rand.Rand, data []byte) []byte {
	data = slices.Clone(data)
	switch n := chance.IntN(4); {
	case n == 0 || len(data) == 0:
		data = make([]byte, chance.IntN(40))
		for i := range data {
			data[i] = byte(chance.Uint32())
		}
	case n == 1:
		data = data[:chance.IntN(len(data))]
	case n == 2:
		data = bytes.Repeat(data, 2)
	default:
		for range 1 + chance.IntN(3) {
			data[chance.IntN(len(data))] = byte(chance.Uint32())
		}
	}
	return data
}
