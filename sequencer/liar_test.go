package sequencer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
	"github.com/conchhq/conch/transport"
)

// I6, Q3: a member answers each question for a handover with a made-up attempt for each state, granted to itself by itself, and
// endorsed by nobody. Nothing of it is inherited, and payments go on as if it had said nothing.
func TestALiarHandsOverNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 2, 1)
		g.declared.Range, g.sleepAfter = 40, time.Minute
		g.chain = sequencer.NewChain(g.declared, ledger.Plain{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()
		running.Go(func() { g.chain.Run(ctx, 10*time.Millisecond) })
		line, err := g.network.Join("member-2").Open(sequencer.Subject)
		if err != nil {
			t.Fatal(err)
		}
		defer line.Close()
		o := g.members[0]
		o.start()
		told := 0
		running.Go(func() { told = lies(ctx, t, line, g.declared) })
		pay := func(key, request string) {
			began := time.Now()
			if _, err := o.node.Submit(ctx, "k", key, []byte(request), 0); err != nil {
				t.Fatal(err)
			}
			if r, err := o.node.Wait(ctx, "k", key); err != nil || !r.Confirmed {
				t.Fatalf("%s ends as %+v, %v", key, r, err)
			}
			s, err := o.node.Status(ctx, "k")
			if took := time.Since(began); err != nil || s.Coordinates.Inherited > 0 || took > 2*40*10*time.Millisecond /* two ranges */ {
				t.Errorf("%s took %v, and %+v was inherited, %v", key, took, s.Coordinates, err)
			}
		}
		pay("funds", `{"issue": {"to": "office", "amount": 100}}`)
		for i := range 20 {
			time.Sleep(90 * time.Millisecond)
			pay(fmt.Sprint(i), `{"pay": {"from": "office", "to": "shop", "amount": 1}}`)
		}
		cancel()
		running.Wait()
		if told == 0 {
			t.Error("the liar was asked nothing")
		}
	})
}

// lies answers what a member is asked for handovers, and returns how often it had something to make up.
func lies(ctx context.Context, t *testing.T, line transport.Line, declared ledger.Contract) (told int) {
	t.Helper()
	var scheme ledger.Plain
	var states []ledger.StateID
	for {
		select {
		case <-ctx.Done():
			return told
		case e := <-line.Inbox():
			msg, err := wire.Decode(e.Body[1:])
			if e.Body[0] != 0 || err != nil {
				continue
			}
			switch body := msg.Body.(type) {
			case wire.Endorse:
				for _, w := range body.Attempts {
					for i := range w.Outputs {
						states = append(states, scheme.State(scheme.Assembled(declared, w.Attempt), i))
					}
				}
			case wire.Attempts:
				send(t, line, wire.Message{Contract: "k", Request: msg.Request, Body: wire.Noted{}})
			case wire.AskHandover:
				var h wire.Handover
				for i, id := range states {
					h.Entries = append(h.Entries, forged(t, declared, uint64(i), id))
				}
				if send(t, line, wire.Message{Contract: "k", Request: msg.Request, Body: h}); len(states) > 0 {
					told++
				}
			}
		}
	}
}

// forged is an attempt on a state as member-2 may make it up: all that it can sign itself is signed.
func forged(t *testing.T, declared ledger.Contract, counter uint64, id ledger.StateID) (e wire.Inherited) {
	t.Helper()
	var scheme ledger.Plain
	e.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: account("member-2"), Sequence: ledger.Sequence{Counter: counter}}, Payload: domain.PayloadHash(nil), Inputs: []ledger.StateID{id}}
	e.Grant = ledger.Grant{Assembled: scheme.Assembled(declared, e.Attempt), Coordinator: account("member-2"), ValidUntil: 1 << 40}
	var err error
	if e.Grant.Signature, err = key("member-2").Sign(scheme.Granted(declared, e.Grant)); err != nil {
		t.Fatal(err)
	}
	e.Endorsements = []ledger.Endorsement{{Member: 0, Signature: e.Grant.Signature}}
	return e
}
