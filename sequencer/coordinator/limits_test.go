package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// The first block that a node hears of may have any number, and the chain may go far back: what that costs is measured by
// the work, and not by the blocks between.
func TestNumbersOfBlocks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set.Head = 0
	s.start()
	s.m.Step(0, ledger.Block{Number: 1 << 62})
	s.m.Step(0, ledger.Rewind{To: 1})
	s.m.Step(0, ledger.Block{Number: 2})
	if wrong := s.m.Audit(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// loaded returns a stage whose machine has many attempts on board, each built on the one before, with two outputs of a
// size each.
func loaded(t *testing.T, attempts, size int) *stage {
	s := newStage(t)
	s.set.Head, s.set.InFlight = 100, 1<<20
	for i := range attempts {
		r := Row{Noted: true}
		r.Attempt = ledger.Attempt{
			Intent: ledger.Intent{Owner: "B", Sequence: ledger.Sequence{Lineage: 1, Counter: uint64(i)}},
			Inputs: []ledger.StateID{plain{}.State(named(fmt.Sprint(i-1)), 0)}, Outputs: make([]ledger.Hash, 2), Data: fmt.Append(nil, i),
		}
		r.Outputs = []domain.Secret{{Data: make([]byte, size)}, {Data: make([]byte, size)}}
		r.Entry = ledger.Entry{Attempt: r.Attempt, Endorsements: make([]ledger.Endorsement, 2), Grant: ledger.Grant{ValidUntil: 120}}
		s.set.Rows = append(s.set.Rows, r)
	}
	s.start()
	return s
}

// sent returns the bodies of a type that a machine has sent, each of which can be encoded.
func sent[B wire.Body](t *testing.T, actions []Action) (all []B, ids []wire.RequestID) {
	t.Helper()
	for _, a := range actions {
		send, is := a.(Send)
		if !is {
			continue
		}
		if _, err := wire.Encode(send.Message); err != nil {
			t.Fatalf("%T cannot be sent: %v", send.Message.Body, err)
		}
		if b, is := send.Message.Body.(B); is {
			all, ids = append(all, b), append(ids, send.Message.Request)
		}
	}
	return all, ids
}

// A context for which a message has no room is told in several, and nothing is left out.
func TestALargeContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ attempts, size int }{{9000, 300}, {17_000, 10}, {70, 60_000}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			s := loaded(t, c.attempts, c.size)
			done := s.m.Step(0, Received{From: "C", Message: wire.Message{
				Request: wire.RequestID{Incarnation: wire.Incarnation{2}, Number: 1},
				Body:    wire.Delegate{Delegation: named("d"), Range: s.m.own(), Intents: []wire.Offer{{}}},
			}})
			told := map[ledger.StateID]bool{}
			now := time.Duration(0)
			for round := 0; round < 50 && len(told) < 2*c.attempts+1; round++ {
				now += time.Minute
				asks, ids := sent[wire.Assemble](t, done)
				if len(asks) != 1 {
					t.Fatalf("it asks %d times in round %d", len(asks), round)
				}
				for _, id := range asks[0].Context.Locked {
					told[id] = true
				}
				for _, made := range asks[0].Context.Created {
					told[made.ID] = true
				}
				done = s.m.Step(now, Received{From: "C", Message: wire.Message{Request: ids[0], Body: wire.Assembled{Results: []wire.Result{{Why: wire.Failed}}}}})
				done = append(done, s.m.Step(now+rest, Tick{})...)
			}
			if len(told) != 2*c.attempts+1 {
				t.Errorf("%d states are told of %d", len(told), 2*c.attempts+1)
			}
		})
	}
}

// A handover, and what members are asked to endorse with what that is built on, have no more than a message takes. So has
// what is given back.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	s := loaded(t, 300, 12_000)
	ask := func(from ledger.Account, body wire.Body) []Action {
		return s.m.Step(0, Received{From: from, Message: wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{2}, Number: 1}, Body: body}})
	}
	hands, _ := sent[wire.Handover](t, ask("B", wire.AskHandover{Range: s.m.own()}))
	if len(hands) != 1 || len(hands[0].Entries) < 100 {
		t.Errorf("it hands over %d", len(hands[0].Entries))
	}
	d := wire.Delegate{Delegation: named("d"), Range: s.m.own(), Intents: make([]wire.Offer, 4)}
	for i := range d.Intents {
		d.Intents[i].Sequence.Counter = uint64(i)
	}
	asks, ids := sent[wire.Assemble](t, ask("C", d))
	var results wire.Assembled
	for i, item := range asks[0].Items {
		r := wire.Result{Sequence: item.Sequence, Payload: make([]byte, 200<<10)}
		r.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: "C", Sequence: item.Sequence}, Data: fmt.Append(nil, "c", i)}
		r.Attempt.Inputs = []ledger.StateID{plain{}.State(named("299"), 0)}
		if i > 0 {
			r.Attempt.Inputs = []ledger.StateID{plain{}.State(named(fmt.Sprint("c", i-1)), 0)}
		}
		r.Outputs, r.Attempt.Outputs = make([]domain.Secret, 1), make([]ledger.Hash, 1)
		for range 12 {
			r.Outputs, r.Attempt.Outputs = append(r.Outputs, domain.Secret{Data: make([]byte, 60_000)}), append(r.Attempt.Outputs, ledger.Hash{})
		}
		results.Results = append(results.Results, r)
	}
	done := s.m.Step(0, Received{From: "C", Message: wire.Message{Request: ids[0], Body: results}})
	asked := 0
	for round := range 4 {
		var next []Action
		endorse, ids := sent[wire.Endorse](t, done)
		for i, e := range endorse {
			if asked++; len(e.Attempts)+len(e.Upstream) > 256 {
				t.Errorf("an endorser is asked for %d attempts, with %d more", len(e.Attempts), len(e.Upstream))
			}
			if round > 0 && len(e.Upstream) == 0 {
				t.Error("what a member lacks does not fit, and nothing is sent")
			}
			verdicts := make([]wire.Verdict, len(e.Attempts))
			for i := range verdicts {
				verdicts[i].Why = wire.Conflict
			}
			for _, from := range []ledger.Account{"A", "B", "C", "D"} {
				next = append(next, s.m.Step(time.Duration(round)*rest, Received{From: from, Message: wire.Message{Request: ids[i], Body: wire.Endorsed{Verdicts: verdicts}}})...)
			}
		}
		done = append(next, s.m.Step(time.Duration(round+1)*rest, Tick{})...)
	}
	if asked < 16 {
		t.Errorf("members are asked %d times", asked)
	}
}

// A sender has more intents here than one message can give back.
func TestAllIsGivenBack(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.start()
	const parts, each = 4, 10_000
	for part := range uint64(parts) {
		d := wire.Delegate{Delegation: named("d"), Intents: make([]wire.Offer, each)}
		for i := range d.Intents {
			d.Intents[i].Sequence = ledger.Sequence{Lineage: part, Counter: uint64(i)}
		}
		s.m.Step(0, Received{From: "C", Message: wire.Message{Request: wire.RequestID{Number: 1}, Body: d}})
	}
	back := 0
	returned, _ := sent[wire.Returned](t, s.m.Step(0, ledger.Block{Number: 12}))
	for _, r := range returned {
		back += len(r.Items)
	}
	if back != parts*each {
		t.Errorf("%d are given back", back)
	}
}
