package domaintest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
)

// oneForm: a payload is the payload of itself, so that a reader can judge its hash.
func oneForm(t *trial) error {
	for _, request := range t.Requests {
		once, err := t.Prepare([]byte(request))
		if err != nil {
			return fmt.Errorf("Prepare refuses %s: %w", request, err)
		}
		if twice, err := t.Prepare(bytes.Clone(once)); err != nil || !bytes.Equal(once, twice) {
			return fmt.Errorf("the payload %q of %s has the payload %q (error %s)", once, request, twice, fmt.Sprint(err))
		}
	}
	return nil
}

func wrongRequests(t *trial) error {
	for _, request := range t.Wrong {
		if payload, err := t.Prepare([]byte(request)); err == nil {
			return fmt.Errorf("Prepare takes %s as %q, want it refused", request, payload)
		}
	}
	return nil
}

// equalAnswers: members that have the same come to the same.
func equalAnswers(t *trial) error {
	all, err := t.steps()
	if err != nil {
		return err
	}
	for range 4 { // what goes through a map differs now and then
		for _, s := range all {
			if payload, err := t.Prepare([]byte(s.request)); err != nil || !bytes.Equal(payload, s.call.Payload) {
				return fmt.Errorf("Prepare says %q of %s, and before it said %q (error %s)", payload, s.request, s.call.Payload, fmt.Sprint(err))
			}
			if draft, err := t.Assemble(clone(s.call), s.view()); err != nil || !reflect.DeepEqual(draft, s.draft) {
				return fmt.Errorf("Assemble says %v of %s, and before it said %v (error %s)", draft, s.request, s.draft, fmt.Sprint(err))
			}
			if _, err := t.Assemble(clone(s.call), nothing{}); err != nil && !told(err) {
				return fmt.Errorf("%s fails on an empty view: %w; want ErrConflict, or ErrNever if no view can help", s.request, err)
			}
			for _, m := range append(mutants(s, t.payloads(all)), mutant{"nothing", s.proposal}) {
				one, other := t.Endorse(copied(m.Proposal)), t.Endorse(copied(m.Proposal))
				if (one == nil) != (other == nil) || one != nil && one.Error() != other.Error() {
					return fmt.Errorf("Endorse says %s and %s of one proposal for %s", fmt.Sprint(one), fmt.Sprint(other), s.request)
				}
			}
			for _, data := range s.proposal.Outputs {
				if one, other := t.Label(data), t.Label(data); one != other {
					return fmt.Errorf("Label says %q and %q of %q", one, other, data)
				}
			}
		}
	}
	return nil
}

func told(err error) bool {
	return errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNever)
}

// argumentsAreLeft: a node keeps what it hands over.
func argumentsAreLeft(t *trial) error {
	all, err := t.steps()
	if err != nil {
		return err
	}
	for _, s := range all {
		text, call, p := []byte(s.request), clone(s.call), copied(s.proposal)
		_, err := t.Prepare(text)
		_, err2 := t.Assemble(call, s.view())
		if err := errors.Join(err, err2, t.Endorse(p)); err != nil {
			return fmt.Errorf("%s: %w", s.request, err)
		}
		for _, data := range p.Outputs {
			t.Label(data)
		}
		if string(text) != s.request || !bytes.Equal(call.Payload, s.call.Payload) || !equal(p, s.proposal) {
			return fmt.Errorf("the rules change what they are asked about %s", s.request)
		}
	}
	return nil
}

func ownProposals(t *trial) error {
	all, err := t.steps()
	if err != nil {
		return err
	}
	for _, s := range all {
		if err := t.Endorse(copied(s.proposal)); err != nil {
			return fmt.Errorf("Endorse refuses what Assemble proposes for %s: %w", s.request, err)
		}
	}
	return nil
}

// changesAreRefused: what follows from payload and inputs follows in one way.
func changesAreRefused(t *trial) error {
	all, err := t.steps()
	if err != nil {
		return err
	}
	for _, s := range all {
		for _, m := range mutants(s, t.payloads(all)) {
			switch err := t.Endorse(copied(m.Proposal)); {
			case equal(m.Proposal, s.proposal):
			case err == nil:
				return fmt.Errorf("Endorse accepts another proposal for %s: %s", s.request, m.what)
			case !errors.Is(err, domain.ErrNever):
				return fmt.Errorf("Endorse refuses another proposal for %s (%s) with %w, want ErrNever", s.request, m.what, err)
			}
		}
	}
	return nil
}

func (t *trial) payloads(all []step) (payloads [][]byte) {
	for _, s := range all {
		payloads = append(payloads, s.call.Payload)
	}
	return slices.CompactFunc(payloads, bytes.Equal)
}
