package sequencer_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// lone is a group of which one endorsement is enough, and whose first member reaches nobody: it has coordinated an intent of its
// own, which is final now.
func lone(ctx context.Context, t *testing.T, prepare func(*group)) *group {
	t.Helper()
	g := newGroup(t, 3, 1)
	prepare(g)
	for _, o := range g.members {
		o.start()
	}
	g.network.Part([]string{"member-1"}, []string{"member-2", "member-3"})
	first := g.members[0]
	s, err := first.node.Submit(ctx, "k", "funds", []byte(`{"issue": {"to": "office", "amount": 20}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	in := ledger.Intent{Owner: account(first.name), Sequence: s}
	for is := false; !is; {
		time.Sleep(10 * time.Millisecond)
		_, _, is = g.chain.Landed(in)
		if ctx.Err() != nil {
			t.Fatal("it does not land")
		}
	}
	time.Sleep(time.Second) // it is final
	return g
}

func asItIs(*group) {}

func (o *organisation) ended(ctx context.Context, key string) bool {
	o.t.Helper()
	found, _, err := o.store.Find(ctx, "k", key)
	if err != nil {
		o.t.Fatal(err)
	}
	return found.Ended
}

// Q14: nobody is told that an intent is done while its contents are with its owner alone: that one may be lost the moment after.
// Once it is told, another member has stored them, and the group goes on without the owner, and after a start of all others.
func TestWhatIsToldIsWithAnotherMember(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"one start": false, "the owner starts again": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				g := lone(ctx, t, asItIs)
				first := g.members[0]
				if restart {
					first.halt()
					first.start()
					if _, err := first.node.Status(ctx, "k"); err != nil {
						t.Fatal(err)
					}
				}
				if time.Sleep(4 * time.Second); first.ended(ctx, "funds") {
					t.Fatal("it was told while nobody else has the contents")
				}
				if status, err := first.node.Status(ctx, "k"); err != nil || status.Intents["included"] != 1 {
					t.Errorf("meanwhile its intents are %v, error %v; want one in a block", status.Intents, err)
				}
				g.network.Heal()
				if r, err := first.node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed || first.node.Alone() > 0 {
					t.Fatalf("it ends as %+v, error %v, %d alone", r, err, first.node.Alone())
				}
				for _, o := range g.members { // the owner is lost, and so is what the others had in memory
					o.halt()
				}
				for _, o := range g.members[1:] {
					o.start()
				}
				g.members[1].asks(ctx, "pay", `{"pay": {"from": "office", "to": "desk", "amount": 7}}`)
				g.members[2].asks(ctx, "pay", `{"pay": {"from": "office", "to": "desk", "amount": 8}}`)
			})
		})
	}
}

// A receipt waits for no dead member: after a while it is told all the same, and that is counted.
func TestAReceiptWaitsForNoDeadMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		g := lone(ctx, t, asItIs)
		first := g.members[0]
		began := time.Now()
		if r, err := first.node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed || first.node.Alone() != 1 {
			t.Fatalf("it ends as %+v, error %v, %d alone", r, err, first.node.Alone())
		}
		if waited := time.Since(began); waited > 10*time.Second {
			t.Errorf("it has waited for %v", waited)
		}
		g.network.Heal()
		g.members[1].asks(ctx, "pay", `{"pay": {"from": "office", "to": "desk", "amount": 7}}`) // the owner still answers
	})
}

// What a member that reaches nobody tells as done is one line of the log for each outage, however many intents that are, and
// one when another member keeps contents again.
func TestToldAloneIsOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		log := &lines{}
		g := lone(ctx, t, func(g *group) { g.log = slog.New(slog.NewTextHandler(log, nil)) })
		first := g.members[0]
		const alone, again = "no other member has said that it keeps", "another member keeps the contents of transactions again"
		told := 1
		tells := func(outage int) {
			t.Helper()
			for i := range 4 { // one after the other: the contract sleeps meanwhile
				first.asks(ctx, fmt.Sprint("alone ", outage, i), fmt.Sprintf(`{"issue": {"to": "office", "amount": %d}}`, 20+i))
				told++
			}
			if lines := log.with(alone); len(lines) != outage || first.node.Alone() != told {
				t.Fatalf("%d of %d intents are told alone, and in outage %d the log says %q", first.node.Alone(), told, outage, lines)
			}
		}
		if r, err := first.node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed {
			t.Fatalf("it ends as %+v, error %v", r, err)
		}
		tells(1)
		g.network.Heal()
		for i := 0; len(log.with(again)) == 0; i++ { // those that another one coordinates are not offered
			if i == 50 {
				t.Fatalf("the end is not told: %q", log.with(""))
			}
			first.asks(ctx, fmt.Sprint("kept ", i), fmt.Sprintf(`{"issue": {"to": "office", "amount": %d}}`, 30+i))
		}
		if lines := log.with(again, "contract=k", "transactions=5"); len(lines) != 1 {
			t.Errorf("the end of the outage is told as %q", log.with(again))
		}
		g.network.Part([]string{"member-1"}, []string{"member-2", "member-3"})
		tells(2)
	})
}

// While a block is not final nobody waits, and there is time: the contents are offered until then, however long that takes.
func TestContentsAreOfferedUntilTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		g := lone(ctx, t, func(g *group) { // some blocks a second are asked for
			g.declared.Depth = 150
			g.chain = sequencertest.NewChain(g.declared, ledger.Plain{})
			go g.chain.Run(ctx, 10*time.Millisecond)
		})
		first := g.members[0]
		time.Sleep(12 * time.Second)
		if _, final, err := g.chain.Head(ctx); final > 0 || err != nil {
			t.Fatalf("block %d is final, error %v: this test shows nothing", final, err)
		}
		g.network.Heal()
		if r, err := first.node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed || first.node.Alone() > 0 {
			t.Errorf("it ends as %+v, error %v, %d alone", r, err, first.node.Alone())
		}
	})
}

// deaf is a ledger whose blocks do not come.
type deaf struct{ *sequencertest.Chain }

func (deaf) Follow(ctx context.Context, _ uint64, _ func(any)) error {
	<-ctx.Done()
	return ctx.Err()
}

// A member that has contents in memory alone does not say that it keeps them.
func TestAMemberSaysWhatItHasStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		g := lone(ctx, t, func(g *group) { g.members[1].ledger = deaf{g.chain} })
		g.network.Heal()
		g.network.Part([]string{"member-1", "member-2"}, []string{"member-3"})
		first := g.members[0]
		if r, err := first.node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed || first.node.Alone() != 1 {
			t.Errorf("it ends as %+v, error %v, %d alone; want it told without the word of the one that follows no ledger", r, err, first.node.Alone())
		}
	})
}

// Q14: with everybody there, any one of the members may die after a receipt, and the others have the contents; owner, coordinator and
// endorsers may be gone. A member that was away from the beginning gets them from that one.
func TestAnyMemberHasTheContents(t *testing.T) {
	t.Parallel()
	for survivor := range 3 {
		t.Run(fmt.Sprint("member ", survivor+1), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				g := newGroup(t, 4, 1)
				for _, o := range g.members[:3] {
					o.start()
				}
				g.members[0].asks(ctx, "funds", `{"issue": {"to": "office", "amount": 20}}`)
				for _, o := range g.members[:3] {
					o.asks(ctx, "pay", `{"pay": {"from": "office", "to": "office", "amount": 20}}`)
				}
				time.Sleep(time.Second) // what was told to one is followed by the others
				for _, o := range g.members[:3] {
					o.halt()
				}
				g.members[survivor].start()
				g.members[3].start()
				g.members[3].asks(ctx, "late", `{"pay": {"from": "office", "to": "desk", "amount": 20}}`)
			})
		})
	}
}
