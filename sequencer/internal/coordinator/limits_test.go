package coordinator

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
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
		r.Endorsements, r.Grant = make([]ledger.Endorsement, 2), ledger.Grant{Coordinator: "A", ValidUntil: 120, Signature: make([]byte, 65)}
		for i := range r.Endorsements {
			r.Endorsements[i].Signature = make([]byte, 65)
		}
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
		r := wire.Result{Sequence: item.Sequence, Whole: wire.Whole{Payload: make([]byte, 200<<10)}}
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

// What other coordinators say that they have dispatched keeps this node from nothing else: not from assembling, however
// much it is (I6 is about dispatch).
func TestInheritedWorkIsNoLimit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.set.InFlight = 2
	s.tell("delegate B d1 0 1")
	s.tell("handed C C/1=x:s1:1:20 C/2=y:s2:1:20")
	if got := s.tell("attempts B 1=z:s3:1"); len(got) == 0 {
		t.Error("the attempt is not endorsed")
	}
	if got := s.tell("delegate D d2 0 1"); len(got) != 2 {
		t.Errorf("it does not assemble: %v", got)
	}
	if got := s.tell("attempts D 1=w:s4:1"); len(got) == 0 {
		t.Error("the attempt is not endorsed")
	}
	if got := s.tell("delegate B d1 0 2"); len(got) != 1 {
		t.Errorf("two of its own are in flight, and it assembles more: %v", got)
	}
	if wrong := s.m.Audit(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// Only the committee can have dispatched something: a member that is not in it is not waited for (Q7).
func TestOnlyTheCommitteeIsAsked(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	committee, err := ranking.NewCommittee("k", []string{"A", "B"}, 10, alphabet{})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Committee = &committee
	s.start()
	got := s.tell("delegate C d1 0 1")
	if want := []string{"B: hand over, range 0", "C: accepted", "C: assemble 1"}; !slices.Equal(got, want) {
		t.Errorf("it does %q", got)
	}
}

// The turn of a sender that has lost a state is on what became of that, though others have spent it very often since.
func TestTheTipOfALongChain(t *testing.T) {
	t.Parallel()
	s := loaded(t, 300, 1)
	first, last := plain{}.State(named("-1"), 0), plain{}.State(named("299"), 0)
	if tips := s.m.flight.tips([]ledger.StateID{first}, mostTips); len(tips) != mostTips {
		t.Errorf("%d tips", len(tips)) // the second outputs are unspent
	}
	for i := range 300 { // but here nobody has them
		delete(s.m.flight.creates, plain{}.State(named(fmt.Sprint(i)), 1))
		w := s.m.works[ledger.Intent{Owner: "B", Sequence: ledger.Sequence{Lineage: 1, Counter: uint64(i)}}]
		w.outputs = w.outputs[:1]
	}
	if tips := s.m.flight.tips([]ledger.StateID{first}, mostTips); !slices.Equal(tips, []ledger.StateID{last}) {
		t.Errorf("the tips are %v", tips)
	}
}

// counting says how often it is asked for an order.
type counting struct{ asked *int }

func (c counting) Order(contract string, nodes []string, r ranking.Range) []string {
	*c.asked++
	return alphabet{}.Order(contract, nodes, r)
}

// The order of a range is found once, and not for each member with each heartbeat and each piece of work.
func TestTheOrderIsFoundOnce(t *testing.T) {
	t.Parallel()
	asked := 0
	s := newStage(t)
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C", "D"}, 10, counting{&asked})
	if err != nil {
		t.Fatal(err)
	}
	s.set.Committee = &committee
	s.start()
	for i := range 100 {
		s.tell(fmt.Sprintf("delegate B d1 0 %d", i))
	}
	s.tell("wait 10s")
	s.tell("hear D works")
	s.tell("block 12")
	if asked > 2 {
		t.Errorf("two ranges are asked for %d times", asked)
	}
}

// Owners who need a while for a batch of grants are asked for a few batches at a time. All at once would be late: each
// would be asked for again, and what is built on it, and again be late.
func TestFewGrantsAreAskedForAtATime(t *testing.T) {
	t.Parallel()
	p := newPeers(t)
	p.apart, p.slow = true, true
	p.delegate(1000)
	p.block()
	rounds := 0
	for ; len(p.late) > 0; rounds++ {
		asked := map[ledger.Account]int{}
		for _, a := range p.late {
			asked[a.To]++
		}
		for to, n := range asked {
			if n > mostAsked {
				t.Fatalf("%v is asked %d times at once, want %d at most", to, n, mostAsked)
			}
		}
		p.now += 400 * time.Millisecond // just in time
		now := p.late
		p.late = nil
		for _, a := range now {
			p.step(Received{From: a.To, Message: wire.Message{Request: a.Message.Request, Body: p.answer(a.To, a.Message.Body)}})
		}
	}
	if len(p.entries) != 4000 {
		t.Errorf("%d entries were submitted in %d rounds, want 4000", len(p.entries), rounds)
	}
	if wrong := p.m.Audit(); len(wrong) > 0 {
		t.Error(wrong)
	}
}

// A handover with thousands of signatures takes longer to prove than a node waits for an answer: it has come, and counts.
func TestAHandoverIsAwaitedWhileItIsProven(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.tell("delegate B d1 0 1")
	id := s.asked[keyOf(wire.KindAskHandover, "C")]
	s.speaker = "C"
	e := s.inherited("7=g:s1:1:18")
	e.Attempt.Owner = "B"
	claims := s.m.Claims("C", id, wire.Handover{Entries: []wire.Dispatch{e}})
	s.tell("wait 1s")
	s.m.Step(s.now, Received{From: "C", Message: wire.Message{Request: id, Body: wire.Handover{Entries: claims}}})
	if len(claims) != 1 || s.m.Status().Inherited != 1 {
		t.Errorf("%d may count, and %d are inherited", len(claims), s.m.Status().Inherited)
	}
}
