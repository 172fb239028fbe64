package evm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/internal/ledgertest"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/ledger"
)

// pair is a contract on a chain and the model of it, which are told the same.
type pair struct {
	t      *testing.T
	chance *rand.Rand
	ledgertest.Fixture
	place   *place
	model   *model.Model
	first   uint64 // no block before it is taken back
	intents map[ledger.Intent]bool
	states  []ledger.StateID // all that were ever named
	reasons map[ledger.Reason]int
}

func (p *pair) member() ledgertest.Member {
	if p.chance.IntN(25) == 0 {
		return p.Stranger
	}
	return p.Members[p.chance.IntN(len(p.Members))]
}

func (p *pair) intent(owner ledgertest.Member) ledger.Intent {
	in := ledger.Intent{Owner: owner.Account, Sequence: ledger.Sequence{Lineage: p.chance.Uint64N(2) << 63, Counter: p.chance.Uint64N(600)}}
	if p.chance.IntN(2) == 0 { // repeated soon, on both sides of where a word of the bitmap ends
		in.Sequence.Counter = 250 + p.chance.Uint64N(10)
	}
	p.intents[in] = true
	return in
}

// some returns states that were named, mostly unspent ones and now and then unknown or spent ones.
func (p *pair) some(most int) (all []ledger.StateID) {
	for range p.chance.IntN(most + 1) {
		now := p.model.States()
		switch dice := p.chance.IntN(20); {
		case dice == 0:
			all = append(all, ledger.StateID(hashOf("unknown", p.chance.Uint64())))
		case dice == 1 && len(p.states) > 0:
			all = append(all, p.states[p.chance.IntN(len(p.states))])
		case len(now) > 0:
			all = append(all, now[p.chance.IntN(len(now))])
		}
	}
	if p.chance.IntN(20) > 0 {
		all = slices.Compact(sorted(all))
	}
	return all
}

// attempt is well-formed mostly. It may stand on the entries before it.
func (p *pair) attempt(in ledger.Intent, before []ledger.Entry) ledger.Attempt {
	a := ledger.Attempt{Intent: in, Payload: hashOf(p.chance.Uint64()), Inputs: p.some(3), Reads: p.some(2), Data: make([]byte, p.chance.IntN(70))}
	if len(before) > 0 && p.chance.IntN(3) == 0 {
		a.Inputs = []ledger.StateID{p.Scheme.State(p.Scheme.Assembled(p.Contract, before[len(before)-1].Attempt), 0)}
	}
	if p.chance.IntN(10) > 0 {
		a.Reads = slices.DeleteFunc(a.Reads, func(s ledger.StateID) bool { return slices.Contains(a.Inputs, s) })
	}
	for i := range p.chance.IntN(4) {
		a.Outputs = append(a.Outputs, hashOf(i, p.chance.Uint64()))
	}
	assembled := p.Scheme.Assembled(p.Contract, a)
	for i := range a.Outputs {
		p.states = append(p.states, p.Scheme.State(assembled, i))
	}
	return a
}

// entry is in order mostly, granted to the sender.
func (p *pair) entry(by ledger.Account, before []ledger.Entry) ledger.Entry {
	owner := p.member()
	e := ledger.Entry{Attempt: p.attempt(p.intent(owner), before)}
	assembled := p.Scheme.Assembled(p.Contract, e.Attempt)
	for i, m := range p.Members {
		if p.chance.IntN(len(p.Members)) < p.Contract.Needed+1 {
			e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: m.Sign(assembled)})
		}
	}
	e.Grant = ledger.Grant{Assembled: assembled, Coordinator: by, Delegation: hashOf(p.chance.Uint64()), ValidUntil: p.model.Number() + p.chance.Uint64N(8)}
	if p.chance.IntN(3) > 0 {
		e.Grant.ValidUntil = 1 << 60
	}
	e.Grant.Signature = owner.Sign(p.Scheme.Granted(p.Contract, e.Grant))
	if p.chance.IntN(3) == 0 {
		spoils[p.chance.IntN(len(spoils))](p, &e)
	}
	return e
}

// spoils break an entry, each in a way that a contract can see: what it is not sent is changed before it is signed.
var spoils = []func(*pair, *ledger.Entry){
	func(p *pair, e *ledger.Entry) { e.Grant.Signature = p.spoiled(e.Grant.Signature) },
	func(p *pair, e *ledger.Entry) { e.Grant.Delegation[p.chance.IntN(32)]++ },
	func(p *pair, e *ledger.Entry) { e.Grant.ValidUntil++ },
	func(p *pair, e *ledger.Entry) { e.Payload[p.chance.IntN(32)]++ },
	func(p *pair, e *ledger.Entry) { e.Data = append(e.Data, 0) },
	func(p *pair, e *ledger.Entry) { e.Outputs = append(e.Outputs, ledger.Hash{}) },
	func(p *pair, e *ledger.Entry) { e.Owner = p.member().Account; p.intents[e.Intent] = true },
	func(p *pair, e *ledger.Entry) { e.Sequence.Counter += 256; p.intents[e.Intent] = true },
	func(p *pair, e *ledger.Entry) { // granted to another account
		e.Grant.Coordinator = p.Members[p.chance.IntN(len(p.Members))].Account
		e.Grant.Signature = p.signer(e.Owner).Sign(p.Scheme.Granted(p.Contract, e.Grant))
	},
	func(p *pair, e *ledger.Entry) { // by another member
		e.Grant.Signature = p.member().Sign(p.Scheme.Granted(p.Contract, e.Grant))
	},
	func(p *pair, e *ledger.Entry) {
		if len(e.Endorsements) > 0 {
			one := &e.Endorsements[p.chance.IntN(len(e.Endorsements))]
			one.Signature = p.spoiled(one.Signature)
		}
	},
	func(p *pair, e *ledger.Entry) {
		if len(e.Endorsements) > 0 {
			e.Endorsements[p.chance.IntN(len(e.Endorsements))].Member = p.chance.IntN(len(p.Members)+2) - 1
		}
	},
	func(p *pair, e *ledger.Entry) {
		e.Endorsements = e.Endorsements[:min(len(e.Endorsements), p.Contract.Needed-1)]
	},
	func(_ *pair, e *ledger.Entry) { slices.Reverse(e.Endorsements) },
	func(_ *pair, e *ledger.Entry) { e.Endorsements = append(e.Endorsements, e.Endorsements...) },
}

func (p *pair) signer(a ledger.Account) ledgertest.Member {
	for _, m := range p.Members {
		if m.Account == a {
			return m
		}
	}
	return p.Stranger
}

func (p *pair) spoiled(signature []byte) []byte {
	spoil := broken[p.chance.IntN(len(broken))]
	return spoil.change(slices.Clone(signature))
}

func (p *pair) transaction() ledger.Sent {
	by := p.member().Account
	if p.chance.IntN(6) == 0 {
		owner := p.member()
		c := &ledger.Cancellation{Intent: p.intent(owner)}
		c.Signature = owner.Sign(p.Scheme.Cancelled(p.Contract, c.Intent))
		if p.chance.IntN(3) == 0 {
			c.Signature = p.spoiled(c.Signature)
		}
		return ledger.Sent{By: by, Cancel: c}
	}
	tx := ledger.Sent{By: by}
	for range 1 + p.chance.IntN(6) {
		tx.Entries = append(tx.Entries, p.entry(by, tx.Entries))
	}
	return tx
}

func (p *pair) block(at string) {
	p.t.Helper()
	var sent []ledger.Sent
	for range p.chance.IntN(4) {
		sent = append(sent, p.transaction())
	}
	want, got := p.model.Block(sent...), p.place.Block(sent...)
	if !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				p.t.Errorf("%s: entry %d: the contract says %v, the model %v", at, i, got[i], want[i])
			}
		}
		p.t.Fatalf("%s: the contract has %d facts, the model %d", at, len(got), len(want))
	}
	for _, f := range want {
		p.reasons[f.Skipped]++
	}
}

// same compares everything that can be asked about the last block.
func (p *pair) same(at string) {
	p.t.Helper()
	intents := make([]ledger.Intent, 0, len(p.intents))
	for in := range p.intents {
		intents = append(intents, in)
	}
	v := p.place.head(intents, p.states)
	if v.Number() != p.model.Number() {
		p.t.Fatalf("%s: the contract is at block %d, the model at %d", at, v.Number(), p.model.Number())
	}
	for _, in := range intents {
		a, b, is := v.Landed(in)
		wantA, wantB, want := p.model.Landed(in)
		if a != wantA || b != wantB || is != want {
			p.t.Fatalf("%s: the contract says that %v landed as %v, %v, %v; the model says %v, %v, %v", at, in, a, b, is, wantA, wantB, want)
		}
	}
	for _, s := range p.states {
		if got, want := v.Unspent(s), p.model.Unspent(s); got != want {
			p.t.Fatalf("%s: the contract says of %v that it is unspent: %v, the model: %v", at, s, got, want)
		}
	}
}

// revert takes blocks back.
func (p *pair) revert(depth uint64) {
	p.t.Helper()
	p.place.node.call(p.t, nil, "dev_reorg", hexutil.Uint64(depth), [][]hexutil.Bytes{})
	for range depth {
		p.model.Revert()
	}
}

// P43, I1, Q1 to Q5: whatever is sent, and whatever is taken back, the contract does what the model does.
func TestTheContractAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	seeds, blocks := uint64(4), 50
	if runtest.Nightly() {
		seeds, blocks = 40, 200
	}
	reasons := map[ledger.Reason]int{}
	for seed := range seeds {
		agree(t, s.node, seed, blocks, reasons)
	}
	t.Logf("entries and cancellations by reason: %v", reasons)
	for r := ledger.Taken; r <= ledger.Missing; r++ {
		if reasons[r] == 0 {
			t.Errorf("nothing was %v", r)
		}
	}
}

func agree(t *testing.T, n *node, seed uint64, blocks int, reasons map[ledger.Reason]int) {
	t.Helper()
	f, at := opened(t, n, 5, 1+int(seed)%4)
	p := &pair{
		t: t, chance: rand.New(rand.NewPCG(seed, 1)), Fixture: f, place: at, model: model.New(f.Contract, evm.Scheme{}),
		first: at.Number(), intents: map[ledger.Intent]bool{}, reasons: reasons,
	}
	at.reader.Narrow(7)
	for p.model.Number() < p.first {
		p.model.Block()
	}
	for i := range blocks {
		here := fmt.Sprintf("seed %d, step %d", seed, i)
		if back := p.model.Number() - p.first; p.chance.IntN(5) == 0 && back > 0 {
			p.revert(1 + p.chance.Uint64N(min(back, 3)))
		}
		p.block(here)
		if i%5 == 4 {
			p.same(here)
		}
	}
}
