package endorser

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// moods are rules that do what the payload says.
type moods struct{ domain.Rules }

func (moods) Label([]byte) string { return "" }

func (moods) Endorse(p domain.Proposal) error {
	switch string(p.Payload) {
	case "bad":
		return fmt.Errorf("%w: it is bad", domain.ErrNever)
	case "odd":
		return errors.New("out of order")
	case "panic":
		panic("at the disco")
	}
	return nil
}

var (
	fake = model.Fake{}
	deal = ledger.Contract{
		Chain: 1, Address: "0xc0ffee", Members: []ledger.Account{"alice", "bob", "carol"}, Committee: []ledger.Account{"alice", "bob"},
		Needed: 2, Range: 10, Depth: 3, Life: 20, Domain: "moods/1",
	}
)

// scene is a machine with its book, and the attempts that it is asked about.
type scene struct {
	*Machine
	book    *book.Book
	now     time.Duration
	made    map[string]wire.Whole
	pending []Check
}

func newScene(t *testing.T, change func(*Config)) *scene {
	t.Helper()
	b, err := book.New(book.Config{Contract: deal, Scheme: fake, Rules: moods{}})
	if err != nil {
		t.Fatal(err)
	}
	committee, err := ranking.NewCommittee(deal.Address, []string{"alice", "bob"}, deal.Range, ranking.Rendezvous{})
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Contract: deal, Committee: committee, Book: b}
	change(&c)
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	return &scene{Machine: New(c), book: b, now: time.Hour, made: map[string]wire.Whole{}}
}

// step feeds the machine and keeps the checks that it asks for.
func (s *scene) step(in Input) []Action {
	all := s.Step(s.now, in)
	for _, a := range all {
		if c, is := a.(Check); is {
			s.pending = append(s.pending, c)
		}
	}
	return all
}

// check runs the rules for the oldest check, as the loop does.
func (s *scene) check() []Action {
	if len(s.pending) == 0 {
		return nil
	}
	c := s.pending[0]
	s.pending = s.pending[1:]
	return s.step(Checked{Of: c.Of, Outcomes: Judge(moods{}, c.Proposals)})
}

// attempt makes an attempt of alice's with a name and two outputs.
func (s *scene) attempt(name, payload string, inputs, reads []ledger.StateID) wire.Whole {
	w := wire.Whole{Payload: []byte(payload)}
	in := ledger.Intent{Owner: "alice", Sequence: ledger.Sequence{Counter: uint64(len(s.made))}}
	w.Attempt = ledger.Attempt{Intent: in, Payload: domain.PayloadHash(w.Payload), Inputs: inputs, Reads: reads}
	slices.SortFunc(w.Attempt.Inputs, ledger.StateID.Compare)
	slices.SortFunc(w.Attempt.Reads, ledger.StateID.Compare)
	for i := range 2 {
		secret := domain.Secret{Salt: [16]byte{byte(i)}, Data: []byte(name)}
		w.Outputs, w.Attempt.Outputs = append(w.Outputs, secret), append(w.Attempt.Outputs, secret.Commitment())
	}
	s.made[name] = w
	return w
}

func (s *scene) output(name string, i int) ledger.StateID {
	return fake.State(fake.Assembled(deal, s.made[name].Attempt), i)
}

func ask(from ledger.Account, number uint64, wait time.Duration, body wire.Body) Received {
	id := wire.RequestID{Incarnation: wire.Incarnation{from[0]}, Number: number}
	return Received{From: from, Message: wire.Message{Contract: deal.Address, Request: id, Wait: wait, Body: body}}
}
