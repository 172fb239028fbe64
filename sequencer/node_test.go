package sequencer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

// group is some organisations with their stores, a network and a ledger, which outlive their nodes.
type group struct {
	t        testing.TB
	network  *memory.Network
	declared ledger.Contract
	chain    *sequencertest.Chain
	members  []*organisation

	sleepAfter time.Duration // so short that contracts sleep whenever they can
	told       func(sequencer.Told)

	forgetAfter time.Duration
	log         *slog.Logger
}

type organisation struct {
	*group
	name   string
	lie    *liar.Lie // nil: what its node says is sent
	store  sequencer.Store
	node   *sequencer.Node
	stop   func()
	sent   atomic.Int64 // messages
	keys   sequencer.Keys
	commit *flaky
	ledger sequencer.Ledger // nil: the group's chain
	lied   sync.Map         // of which kinds the messages were about which it has lied
}

func newGroup(t testing.TB, count, needed int) *group {
	t.Helper()
	g := &group{t: t, network: memory.New(7), sleepAfter: 20 * time.Millisecond}
	g.declared = ledger.Contract{Chain: 1, Address: "k", Needed: needed, Range: 1000, Depth: 2, Life: 50, Domain: "notes/1"}
	for i := range count {
		name := fmt.Sprintf("member-%d", i+1)
		f := &flaky{Store: sequencertest.NewMemory(), chance: rand.New(rand.NewPCG(uint64(i), 3))}
		g.members = append(g.members, &organisation{group: g, name: name, store: f, commit: f, keys: key(name)})
		g.declared.Members = append(g.declared.Members, account(name))
	}
	g.declared.Committee = g.declared.Members
	g.chain = sequencertest.NewChain(g.declared, ledger.Plain{})
	ctx, stop := context.WithCancel(context.Background())
	var mining sync.WaitGroup
	chain := g.chain
	mining.Go(func() { chain.Run(ctx, 10*time.Millisecond) })
	t.Cleanup(func() {
		for _, o := range g.members {
			o.halt()
		}
		stop()
		mining.Wait()
	})
	return g
}

// bubble runs a test of nodes in virtual time. Their ticks are so short that a busy machine would have them take each other
// for dead.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// start starts the organisation's node from what its store has.
func (o *organisation) start() {
	o.t.Helper()
	peers := map[ledger.Account]string{}
	for _, other := range o.members {
		if other != o {
			peers[account(other.name)] = other.name
		}
	}
	chain := o.ledger
	if chain == nil {
		chain = o.chain
	}
	cfg := sequencer.Config{
		Self: account(o.name), Keys: o.keys, Peers: peers, Transport: watched{o.network.Join(o.name), o}, Store: o.store,
		Secret: sha256.Sum256([]byte(o.name)), Tick: 10 * time.Millisecond, SleepAfter: o.sleepAfter, Told: o.told, Log: o.log,
		Contracts: []sequencer.Contract{{
			Declared: o.declared, Rules: notes.New(account("member-1")), Scheme: ledger.Plain{}, Ledger: chain, NudgeAfter: 100 * time.Millisecond,
			ForgetAfter: o.forgetAfter,
		}},
	}
	if o.lie != nil {
		cfg = o.lie.Tells(cfg, func(kind string) { o.lied.Store(kind, true) })
	}
	node, err := sequencer.New(cfg)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = node.Run(ctx) })
	o.node, o.stop = node, func() { cancel(); running.Wait() }
}

// halt stops the node in the middle of whatever it does. What was not committed is lost.
func (o *organisation) halt() {
	if o.stop != nil {
		o.stop()
		o.stop = nil
	}
}

// watched counts what a node sends, and checks that what it tells of was stored before (P38).
type watched struct {
	*memory.Endpoint
	of *organisation
}

func (w watched) Open(subject string) (transport.Line, error) {
	line, err := w.Endpoint.Open(subject)
	return watchedLine{line, w.of}, err
}

type watchedLine struct {
	transport.Line
	of *organisation
}

func (l watchedLine) Send(to string, body []byte) error {
	l.of.sent.Add(1)
	if msg, err := wire.Decode(body[1:]); err == nil && body[0] == 0 {
		var told []ledger.Hash
		switch b := msg.Body.(type) {
		case wire.Granted:
			for _, item := range b.Items {
				if item.Why == wire.Done {
					told = append(told, item.Grant.Assembled)
				}
			}
		case wire.Dispatched:
			for _, item := range b.Items {
				told = append(told, item.Assembled)
			}
		}
		if stored, err := l.of.commit.Store.Attempts(context.Background(), "k", told); err != nil || len(stored) < len(told) {
			l.of.t.Errorf("%s tells %s of %d attempts, of which %d are stored", l.of.name, to, len(told), len(stored))
		}
	}
	return l.Line.Send(to, body)
}

// flaky is a database that sometimes does not store, and sometimes stores without saying so.
type flaky struct {
	sequencer.Store
	mu     sync.Mutex
	chance *rand.Rand
	odds   float64
}

var errLost = errors.New("the connection is lost")

func (f *flaky) fails() (before, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.chance.Float64() < f.odds, f.chance.Float64() < f.odds
}

func (f *flaky) Write(ctx context.Context, changes []core.Change) ([]core.Twice, error) {
	before, after := f.fails()
	if before {
		return nil, errLost
	}
	twice, err := f.Store.Write(ctx, changes)
	if after {
		return nil, errLost
	}
	return twice, err
}

// I1, I2, P28, P35, P38 to P42: five nodes over a bad network, with databases that lose answers; one node after the other
// is stopped in the middle and starts again. Every intent ends, and lands once.
func TestNodes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 5, 3)
		g.network.SetFaults(memory.Faults{Loss: 0.02, Double: 0.02, Least: 100 * time.Microsecond, Most: 3 * time.Millisecond})
		for _, o := range g.members {
			o.commit.odds = 0.05
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		hand := func(o *organisation, id, request string) ledger.Intent {
			for {
				s, err := o.node.Submit(ctx, "k", id, []byte(request), 0)
				if err == nil {
					return ledger.Intent{Owner: account(o.name), Sequence: s}
				}
				if ctx.Err() != nil || !errors.Is(err, sequencer.ErrStopped) {
					t.Fatal(err)
				}
			}
		}
		hand(g.members[0], "funds", `{"issue": {"to": "office", "amount": 1000}}`)
		all := map[string]ledger.Intent{}
		for i := range 60 {
			o := g.members[i%5]
			id := fmt.Sprint("payment ", i)
			request := fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%3, 1+i%7)
			all[id] = hand(o, id, request)
			if again := hand(o, id, request); again != all[id] {
				t.Errorf("the key %s names %v and %v", id, all[id], again)
			}
			if _, err := o.node.Submit(ctx, "k", id, []byte(`{"issue": {"to": "office", "amount": 1}}`), 0); !errors.Is(err, sequencer.ErrConflict) {
				t.Errorf("the key %s for another request: got error %v, want ErrConflict", id, err)
			}
			if i%12 == 11 {
				victim := g.members[(i/12)%5]
				victim.halt()
				victim.start()
			}
		}
		for i := range 60 {
			o, id := g.members[i%5], fmt.Sprint("payment ", i)
			result, err := o.node.Wait(ctx, "k", id)
			if err != nil || !result.Confirmed {
				t.Fatalf("%s ends as %+v, %v; want it confirmed", id, result, err)
			}
			if assembled, _, is := g.chain.Landed(all[id]); !is || assembled != result.Assembled {
				t.Errorf("%s: the chain has %v, %v; its user was told %v", id, assembled, is, result.Assembled)
			}
		}
	})
}

// garbage signs with a key that is not the node's.
type garbage struct{}

func (garbage) Sign(h ledger.Hash) ([]byte, error) { return key("nobody").Sign(h) }

// Q3: a member whose signatures are wrong is as one that does not endorse, and its own intents get nowhere: nobody builds
// on them.
func TestWrongSignatures(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		g.members[2].keys = garbage{}
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := g.members[2].node.Submit(ctx, "k", "bad", []byte(`{"pay": {"from": "office", "to": "desk", "amount": 1}}`), 0); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if _, err := g.members[i%2].node.Submit(ctx, "k", fmt.Sprint(i), []byte(`{"pay": {"from": "office", "to": "desk", "amount": 1}}`), 0); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.members[0].node.Submit(ctx, "k", "funds", []byte(`{"issue": {"to": "office", "amount": 21}}`), 0); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if r, err := g.members[i%2].node.Wait(ctx, "k", fmt.Sprint(i)); err != nil || !r.Confirmed {
				t.Fatalf("payment %d ends as %+v, %v; want it confirmed", i, r, err)
			}
		}
		if n := g.chain.Skipped(); n > 0 {
			t.Errorf("the ledger skipped %d entries", n)
		}
	})
}

// Q14: a member that was away when an attempt landed gets its contents from another one, though its owner is gone.
func TestContentsAreKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 4, 2)
		for _, o := range g.members[:3] {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i, request := range []string{`{"issue": {"to": "office", "amount": 20}}`, `{"issue": {"to": "other", "amount": 1}}`, `{"issue": {"to": "other", "amount": 2}}`} {
			if _, err := g.members[0].node.Submit(ctx, "k", fmt.Sprint(i), []byte(request), 0); err != nil {
				t.Fatal(err)
			}
			if r, err := g.members[0].node.Wait(ctx, "k", fmt.Sprint(i)); err != nil || !r.Confirmed {
				t.Fatalf("it ends as %+v, %v", r, err)
			}
		}
		for _, o := range g.members[:3] { // what they had in memory is gone
			o.halt()
		}
		for _, o := range g.members[1:] {
			o.start()
		}
		late := g.members[3].node
		if _, err := late.Submit(ctx, "k", "late", []byte(`{"pay": {"from": "office", "to": "desk", "amount": 7}}`), 0); err != nil {
			t.Fatal(err)
		}
		if r, err := late.Wait(ctx, "k", "late"); err != nil || !r.Confirmed {
			t.Errorf("the late member's payment ends as %+v, %v; want it confirmed", r, err)
		}
	})
}

// I9: with nothing in flight nothing is sent.
func TestIdleNodesAreSilent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 3, 3)
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := g.members[0].node.Submit(ctx, "k", "funds", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); err != nil {
			t.Fatal(err)
		}
		if r, err := g.members[0].node.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed {
			t.Fatalf("it ends as %+v, %v", r, err)
		}
		total := func() (n int64) {
			for _, o := range g.members {
				n += o.sent.Load()
			}
			return n
		}
		for quiet, was := 0, total(); quiet < 20; {
			select {
			case <-ctx.Done():
				t.Fatal("the nodes never fall silent")
			case <-time.After(50 * time.Millisecond):
			}
			if now := total(); now == was {
				quiet++
			} else {
				quiet, was = 0, now
			}
		}
	})
}

// What is no use is refused, and a user is told why.
func TestNodesRefuse(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 2, 2)
	for _, o := range g.members {
		o.start()
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	node := g.members[0].node
	if _, err := node.Submit(ctx, "another", "a", nil, 0); !errors.Is(err, sequencer.ErrContract) {
		t.Errorf("an unknown contract: %v, want ErrContract", err)
	}
	if _, err := node.Submit(ctx, "k", "a", []byte("{}"), 0); err == nil {
		t.Error("a request that says nothing was accepted")
	}
	if _, err := node.Submit(ctx, "k", "b", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0); err != nil {
		t.Fatal(err)
	}
	other := g.members[1].node
	s, err := other.Submit(ctx, "k", "c", []byte(`{"pay": {"from": "empty", "to": "office", "amount": 5}}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Cancel(ctx, "k", s); err != nil {
		t.Fatal(err)
	}
	if r, err := other.Wait(ctx, "k", "c"); err != nil || r.Confirmed {
		t.Errorf("what was cancelled ends as %+v, %v; want it reverted", r, err)
	}
	g.members[0].halt()
	if _, err := node.Submit(ctx, "k", "d", nil, 0); !errors.Is(err, sequencer.ErrStopped) {
		t.Errorf("a node that is stopped: %v, want ErrStopped", err)
	}
}

// I10: a request that cannot be read, or is about a contract that is not there, gets a rejection; what is no request, and
// what a stranger sends, gets none.
func TestEachRequestIsAnswered(t *testing.T) {
	t.Parallel()
	g := newGroup(t, 2, 2)
	g.members[0].start()
	peer := g.network.Join("member-2")
	line, err := peer.Open(sequencer.Subject)
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	id := wire.RequestID{Incarnation: wire.Incarnation{9}, Number: 4}
	unknown, err := wire.Encode(wire.Message{Contract: "another", Request: id, Wait: time.Second, Body: wire.AskList{}})
	if err != nil {
		t.Fatal(err)
	}
	id.Number = 5
	known, err := wire.Encode(wire.Message{Contract: "k", Request: id, Wait: time.Second, Body: wire.AskList{}})
	if err != nil {
		t.Fatal(err)
	}
	spoilt := spoil(t, id.Incarnation)
	deadline := time.After(30 * time.Second)
	want := map[uint64]string{4: "wire.Rejected", 5: "wire.List", 6: "wire.Rejected"}
	for len(want) > 0 {
		for _, body := range [][]byte{{}, {0}, {1, 2, 3}, {7, 7}, append([]byte{0}, unknown...), append([]byte{0}, known...), append([]byte{0}, spoilt...)} {
			_ = line.Send("member-1", body)
		}
		select {
		case e := <-line.Inbox():
			if msg, err := wire.Decode(e.Body[1:]); err == nil && e.Body[0] == 0 && want[msg.Request.Number] == fmt.Sprintf("%T", msg.Body) {
				delete(want, msg.Request.Number)
			}
		case <-time.After(100 * time.Millisecond): // the node may not have begun
		case <-deadline:
			t.Fatalf("these had no answer: %v", want)
		}
	}
}

// spoil returns a request of which only the head can be read.
func spoil(t *testing.T, by wire.Incarnation) []byte {
	t.Helper()
	good, err := wire.Encode(wire.Message{
		Contract: "k", Request: wire.RequestID{Incarnation: by, Number: 6}, Wait: time.Second, Body: wire.AskAttempts{Assembled: []ledger.Hash{{1}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1
		if msg, err := wire.Decode(bad); err != nil && msg.Request.Number == 6 && msg.Contract == "k" {
			return bad
		}
	}
	t.Fatal("every flipped bit leaves a good message, or no head")
	return nil
}
