package coordinator

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What the machine costs for one intent from its delegation to its last block: four senders that each spend their own
// state over and over, one endorsement, a block of 200 at a time.
func BenchmarkIntent(b *testing.B) {
	p := newPeers(b)
	for b.Loop() {
		p.round()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(p.landed), "µs/intent")
}

func newPeers(b testing.TB) *peers {
	b.Helper()
	members := []ledger.Account{"A", "B", "C", "D"}
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C", "D"}, 1_000_000, alphabet{})
	if err != nil {
		b.Fatal(err)
	}
	book := &quickBook{wholes: map[ledger.Hash]wire.Whole{}}
	m := New(Config{
		Self: "A", Incarnation: wire.Incarnation{1}, Book: book, Scheme: quick{}, Committee: &committee, Head: 2,
		Contract: &ledger.Contract{Address: "k", Members: members, Committee: members, Needed: 1, Range: 1_000_000, Depth: 2, Life: 1 << 40, Domain: "d"},
	})
	p := &peers{m: m, book: book, last: map[ledger.Account]ledger.StateID{}}
	for i, a := range members {
		p.last[a] = ledger.StateID{1, byte(i)}
	}
	return p
}

// peers answer a machine at once.
type peers struct {
	m       *Machine
	book    *quickBook
	now     time.Duration
	last    map[ledger.Account]ledger.StateID
	counter uint64
	entries []ledger.Entry
	head    uint64
	landed  int
	apart   bool   // each spends a state of its own
	slow    bool   // grants are answered later
	late    []Send // requests for those
}

// round brings 200 intents into a block.
func (p *peers) round() {
	p.now += 50 * time.Millisecond
	p.delegate(50)
	p.block()
	p.step(Tick{})
}

func (p *peers) delegate(each int) {
	for _, a := range []ledger.Account{"A", "B", "C", "D"} {
		d := wire.Delegate{Delegation: ledger.Hash{9}}
		for range each {
			p.counter++
			d.Intents = append(d.Intents, wire.Offer{Sequence: ledger.Sequence{Counter: p.counter}})
		}
		p.step(Received{From: a, Message: wire.Message{Body: d}})
	}
}

// block is the next one, with all that was submitted.
func (p *peers) block() {
	p.head = max(p.head, 2) + 1
	block := ledger.Block{Number: p.head}
	for _, e := range p.entries {
		block.Facts = append(block.Facts, ledger.Fact{Intent: e.Intent, Assembled: e.Grant.Assembled})
	}
	p.landed += len(p.entries)
	p.entries = nil
	p.step(block)
}

func (p *peers) step(in Input) {
	for _, a := range p.m.Step(p.now, in) {
		switch a := a.(type) {
		case Store:
			p.step(Stored{a.Number})
		case Submit:
			p.entries = append(p.entries, a.Entries...)
		case Send:
			if _, is := a.Message.Body.(wire.AskGrant); is && p.slow {
				p.late = append(p.late, a)
				continue
			}
			if body := p.answer(a.To, a.Message.Body); body != nil {
				p.step(Received{From: a.To, Message: wire.Message{Request: a.Message.Request, Body: body}})
			}
		}
	}
}

func (p *peers) answer(a ledger.Account, asked wire.Body) wire.Body {
	switch asked := asked.(type) {
	case wire.Assemble:
		var b wire.Assembled
		for _, item := range asked.Items {
			r := wire.Result{Sequence: item.Sequence, Whole: wire.Whole{Outputs: make([]domain.Secret, 1)}}
			r.Attempt = ledger.Attempt{Intent: ledger.Intent{Owner: a, Sequence: item.Sequence}, Inputs: []ledger.StateID{p.last[a]}, Outputs: make([]ledger.Hash, 1)}
			if p.apart {
				r.Attempt.Inputs = []ledger.StateID{quick{}.State(quick{}.Assembled(ledger.Contract{}, r.Attempt), 5)}
			}
			p.last[a] = quick{}.State(quick{}.Assembled(ledger.Contract{}, r.Attempt), 0)
			b.Results = append(b.Results, r)
		}
		return b
	case wire.Endorse:
		if a != "A" {
			return nil
		}
		var b wire.Endorsed
		for _, w := range asked.Attempts {
			b.Verdicts = append(b.Verdicts, wire.Verdict{Assembled: quick{}.Assembled(ledger.Contract{}, w.Attempt)})
		}
		return b
	case wire.AskGrant:
		var b wire.Granted
		for _, i := range asked.Items {
			b.Items = append(b.Items, wire.GrantResult{Sequence: i.Sequence, Grant: ledger.Grant{Assembled: i.Assembled, Coordinator: "A", Delegation: i.Delegation, ValidUntil: 1 << 40}})
		}
		return b
	case wire.Dispatched:
		return wire.Noted{}
	case wire.AskHandover:
		return wire.Handover{}
	}
	return nil
}

// quick is a scheme whose hashes cost nothing.
type quick struct{ ledger.Plain }

func (quick) Assembled(_ ledger.Contract, a ledger.Attempt) (h ledger.Hash) {
	binary.BigEndian.PutUint64(h[8:], a.Sequence.Counter)
	return h
}

func (quick) State(h ledger.Hash, i int) ledger.StateID {
	h[0] = byte(i + 1)
	return ledger.StateID(h)
}

// quickBook has every state that an attempt in flight does not create.
type quickBook struct{ wholes map[ledger.Hash]wire.Whole }

func (*quickBook) Hear(w wire.Whole) (ledger.Hash, error) {
	return quick{}.Assembled(ledger.Contract{}, w.Attempt), nil
}
func (b *quickBook) Whole(h ledger.Hash) (wire.Whole, bool) { w, is := b.wholes[h]; return w, is }
func (*quickBook) Decided(ledger.Hash, ledger.Attempt) bool { return false }
func (*quickBook) Unspent(ledger.StateID) bool              { return true }
