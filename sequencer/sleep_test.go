package sequencer_test

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// P42: a coordinator that has slept goes on with the numbers of its requests. Who remembers a later one would take the
// next for one that was overtaken, and refuse it.
func TestRequestsGoOnAfterSleep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 2, 2)
		o := g.members[0]
		o.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		line, err := g.network.Join("member-2").Open(sequencer.Subject)
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		if err := o.node.Cancel(ctx, "k", ledger.Sequence{}); err != nil { // it waits until the node has begun
			t.Fatal(err)
		}
		var last uint64
		for round := range uint64(4) {
			send(t, line, wire.Message{
				Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: round + 1}, Wait: time.Second,
				Body: wire.Delegate{Delegation: ledger.Hash{byte(round + 1)}, Intents: []wire.Offer{{Sequence: ledger.Sequence{Counter: round}}}},
			})
			asked := next[wire.Assemble](ctx, t, line)
			if asked.Request.Number <= last {
				t.Fatalf("round %d: a request to assemble has the number %d, after %d", round, asked.Request.Number, last)
			}
			last = asked.Request.Number
			items := asked.Body.(wire.Assemble).Items
			send(t, line, wire.Message{
				Contract: "k", Request: asked.Request, Body: wire.Assembled{Results: []wire.Result{{Sequence: items[0].Sequence, Why: wire.Ended}}},
			})
			for o.node.Awake() > 0 { // it asks what was dispatched before
				select {
				case e := <-line.Inbox():
					hear[wire.Assemble](t, line, e)
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
					t.Fatal("the contract never falls asleep")
				}
			}
		}
	})
}

// send sends a message to the first member.
func send(t *testing.T, line transport.Line, msg wire.Message) {
	t.Helper()
	bytes, err := wire.Encode(msg)
	if err == nil {
		err = line.Send("member-1", append([]byte{0}, bytes...))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// next returns the next message whose body is of a type.
func next[B wire.Body](ctx context.Context, t *testing.T, line transport.Line) wire.Message {
	t.Helper()
	for {
		select {
		case e := <-line.Inbox():
			if msg, is := hear[B](t, line, e); is {
				return msg
			}
		case <-ctx.Done():
			t.Fatal("no such message comes")
		}
	}
}

// hear reads a message, reports whether its body is of a type, and says that there is nothing to hand over.
func hear[B wire.Body](t *testing.T, line transport.Line, e transport.Envelope) (wire.Message, bool) {
	t.Helper()
	msg, err := wire.Decode(e.Body[1:])
	if err != nil || e.Body[0] != 0 {
		return msg, false
	}
	if _, asks := msg.Body.(wire.AskHandover); asks {
		send(t, line, wire.Message{Contract: msg.Contract, Request: msg.Request, Body: wire.Handover{}})
	}
	_, is := msg.Body.(B)
	return msg, is
}

// P42: who wakes a node is not told of heights that are long past: it reads the blocks of the meantime first.
func TestANodeWakesUpToDate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 2, 2)
		o := g.members[0]
		o.start()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		line, err := g.network.Join("member-2").Open(sequencer.Subject)
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		if err := o.node.Cancel(ctx, "k", ledger.Sequence{}); err != nil { // it waits until the node has begun
			t.Fatal(err)
		}
		for number := range uint64(3) {
			asleep := func() bool { return o.node.Awake() == 0 }
			head, final, goal := uint64(0), uint64(0), 8*(number+1)
			for head < goal || !asleep() {
				_ = g.chain.Nudge(ctx) // it is always taken
				head, final, _ = g.chain.Head(ctx)
				select {
				case <-time.After(5 * time.Millisecond):
				case <-ctx.Done():
					t.Fatal("the chain stands still, or the contract never falls asleep")
				}
			}
			send(t, line, wire.Message{
				Contract: "k", Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: number + 1}, Wait: time.Second, Body: wire.AskList{},
			})
			if answer := next[wire.List](ctx, t, line); answer.Height < final {
				t.Fatalf("it answers at the height %d, want %d or more", answer.Height, final)
			}
		}
	})
}
