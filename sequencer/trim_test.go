package sequencer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/memory"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// asks has a member's user ask for something, and waits until it is done.
func (o *organisation) asks(ctx context.Context, key, request string) {
	o.t.Helper()
	if _, err := o.node.Submit(ctx, "k", key, []byte(request), 0); err != nil {
		o.t.Fatal(err)
	}
	if r, err := o.node.Wait(ctx, "k", key); err != nil || !r.Confirmed {
		o.t.Fatalf("%s ends as %+v, %v; want it confirmed", key, r, err)
	}
}

// held runs three organisations in virtual time for some transactions, and returns what their nodes and stores keep in memory
// after that, and the rows of one store.
func held(t *testing.T, transactions int, forgetAfter time.Duration) (bytes, rows int) {
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		g.forgetAfter = forgetAfter
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Hour)
		defer cancel()
		g.members[0].asks(ctx, "funds", `{"issue": {"to": "office", "amount": 1000}}`)
		for i := range transactions {
			g.members[i%3].asks(ctx, fmt.Sprint(i), fmt.Sprintf(`{"pay": {"from": %q, "to": %q, "amount": 1000}}`, []string{"office", "home"}[i%2], []string{"home", "office"}[i%2]))
		}
		time.Sleep(2 * max(forgetAfter, 0))
		synctest.Wait()
		memory, _ := g.members[1].commit.Store.(*memory.Store)
		intents, grants, attempts, states, others := memory.Rows()
		t.Logf("%d transactions leave %d intents, %d grants, %d attempts, %d states, %d others", transactions, intents, grants, attempts, states, others)
		rows = intents + grants + attempts + states + others
		with := heap()
		runtime.KeepAlive(g.members)
		for _, o := range g.members {
			o.halt()
			o.node, o.store, o.commit = nil, nil, nil
		}

		bytes = int(with) - int(heap())
	})
	return bytes, rows
}

// P41: what a node keeps in memory, and what its store keeps, does not grow with what has ended. The test has the machine's memory
// for itself: it is not parallel.
func TestWhatHasEndedIsForgotten(t *testing.T) { //nolint:paralleltest // it measures memory
	const few, many = 20, 800 // what else a process keeps comes and goes by some 60 KiB
	before, _ := held(t, few, time.Second)
	after, rows := held(t, many, time.Second)
	_, all := held(t, few, -1)
	t.Logf("after %d transactions %d KiB are held, after %d of them %d KiB; %d rows are stored, and %d of %d if nothing is forgotten", few, before>>10, many, after>>10, rows, all, few)
	if all < few {
		t.Errorf("%d rows are stored if nothing is forgotten: this test shows nothing", all)
	}
	if rows > 4 {
		t.Errorf("%d rows are left, want those of one state", rows)
	}
	if each := (after - before) / (many - few); each > 300 {
		t.Errorf("each transaction costs %d bytes of memory for ever", each)
	}
}

// P28, P38 to P42, Q14: a store that forgets everything almost at once that it may forget keeps what a start needs and what members
// need of each other. Nodes start again all the time; each intent lands once, as its user is told; and a member that was away
// from the beginning can spend what is there, and lacks nothing.
func TestForgettingHarmsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 4, 2)
		g.forgetAfter = 100 * time.Millisecond
		ends := make(chan sequencer.Told, 1000)
		g.told = func(m sequencer.Told) {
			if m.State == sender.Confirmed.String() || m.State == sender.Reverted.String() {
				ends <- m
			}
		}
		for _, o := range g.members[:3] {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		open := map[ledger.Sequence]ledger.Intent{}
		submit := func(o *organisation, key, request string) {
			s, err := o.node.Submit(ctx, "k", key, []byte(request), 0)
			if err != nil {
				t.Fatal(err)
			}
			open[s] = ledger.Intent{Owner: account(o.name), Sequence: s}
		}
		settle := func(left int) {
			for len(open) > left {
				select {
				case m := <-ends:
					in, mine := open[m.Sequence]
					if !mine {
						continue // told again after a start
					}
					if landed, _, is := g.chain.Landed(in); !is || m.State != sender.Confirmed.String() || landed != m.Assembled && m.Assembled != (ledger.Hash{}) {
						t.Fatalf("told %+v, and the ledger has %v, %v", m, landed, is)
					}
					delete(open, m.Sequence)
				case <-time.After(time.Second): // a node that is halted between storing a result and telling it does not tell it
					for s, in := range open {
						o := g.members[slices.IndexFunc(g.members, func(o *organisation) bool { return account(o.name) == in.Owner })]
						status, err := o.node.Status(ctx, "k")
						if err != nil || len(status.Intents) > 0 {
							continue
						}
						if _, _, is := g.chain.Landed(in); !is {
							t.Fatalf("%s has no open intent, and %v has not landed", o.name, in)
						}
						delete(open, s)
					}
				case <-ctx.Done():
					t.Fatalf("%d intents do not end", len(open))
				}
			}
		}
		submit(g.members[0], "funds", `{"issue": {"to": "office", "amount": 1000}}`)
		settle(0)
		for i := range 90 {
			submit(g.members[i%3], fmt.Sprint(i), fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7))
			if i%9 == 8 {
				settle(4) // some are open while a node starts again
				victim := g.members[i/9%3]
				victim.halt()
				victim.start()
			}
		}
		settle(0)
		for third := g.members[2]; ; time.Sleep(time.Second) { // a node that has begun again asks the others for what it lacks
			status, err := third.node.Status(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if status.Missing == 0 {
				break
			}
		}
		for _, o := range g.members[:2] {
			o.halt()
		}
		late := g.members[3]
		late.start()
		submit(late, "late", `{"pay": {"from": "office", "to": "desk-1", "amount": 500}}`)
		settle(0)
		time.Sleep(time.Minute)
		status, err := late.node.Status(ctx, "k")
		if err != nil || status.Missing > 0 {
			t.Errorf("the member that was away lacks %d attempts, error %v", status.Missing, err)
		}
		for _, o := range g.members[2:] {
			memory, _ := o.commit.Store.(*memory.Store)
			intents, grants, attempts, states, others := memory.Rows()
			if intents+grants+others > 0 || states == 0 || attempts > states {
				t.Errorf("%s keeps %d intents, %d grants, %d attempts for %d states, %d others", o.name, intents, grants, attempts, states, others)
			}
		}
	})
}

// behind is an endpoint that answers questions about a final block long ago: nothing was there yet.
type behind struct {
	*sequencertest.Chain
	of     *sequencertest.Chain
	behind atomic.Bool
}

func (b *behind) Final(ctx context.Context, intents []ledger.Intent, states []ledger.StateID) (ledger.View, error) {
	if b.behind.Load() {
		return b.of.Final(ctx, intents, states)
	}
	return b.Chain.Final(ctx, intents, states)
}

// Q14: a member that finds nobody gives up what nobody needs, and nothing else: not while its endpoint is behind, where states
// that are there are not there yet. When it finds others after that it hears of the rest. What the attempts that it has given up
// have spent does not seem to be there.
func TestNothingElseIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGroup(t, 4, 2)
		g.forgetAfter = time.Second
		for _, o := range g.members[:3] {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Hour)
		defer cancel()
		first, late := g.members[0], g.members[3]
		first.asks(ctx, "1", `{"issue": {"to": "office", "amount": 100}}`)
		first.asks(ctx, "2", `{"pay": {"from": "office", "to": "desk", "amount": 30}}`)
		first.asks(ctx, "3", `{"pay": {"from": "office", "to": "home", "amount": 70}}`)
		first.asks(ctx, "4", `{"pay": {"from": "home", "to": "shop", "amount": 70}}`)
		time.Sleep(5 * time.Second)
		for _, o := range g.members[:3] {
			o.halt()
		}
		endpoint := &behind{Chain: g.chain, of: sequencertest.NewChain(g.declared, ledger.Plain{})}
		endpoint.behind.Store(true)
		late.ledger = endpoint
		late.start()
		lacks := func(want int) {
			t.Helper()
			if _, err := late.node.Status(ctx, "k"); err != nil { // which wakes it
				t.Fatal(err)
			}
			time.Sleep(3 * time.Minute)
			if s, err := late.node.Status(ctx, "k"); err != nil || s.Missing != want {
				t.Fatalf("it lacks %d attempts, error %v; want %d", s.Missing, err, want)
			}
		}
		lacks(4)
		endpoint.behind.Store(false)
		lacks(2) // that have created what is at the desk and in the shop
		first.start()
		lacks(0)
		for label, want := range map[string]int{"office": 0, "home": 0, "desk": 1, "shop": 1} {
			if states, err := late.node.States(ctx, "k", label, 10); err != nil || len(states) != want {
				t.Errorf("%s has %d notes, error %v; want %d", label, len(states), err, want)
			}
		}
	})
}
