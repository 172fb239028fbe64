package model_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/ledgertest"
	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/ledger"
)

func member(name string) ledgertest.Member {
	seed := sha256.Sum256([]byte(name))
	key := ed25519.NewKeyFromSeed(seed[:])
	public, _ := key.Public().(ed25519.PublicKey)
	return ledgertest.Member{
		Account: ledger.Account(public), Sign: func(h ledger.Hash) []byte { return ed25519.Sign(key, h[:]) },
	}
}

func open(_ *testing.T, members, needed int) ledgertest.Fixture {
	f := ledgertest.Fixture{Scheme: ledger.Plain{}, Stranger: member("stranger")}
	c := ledger.Contract{Chain: 1337, Address: "0xc0ffee", Needed: needed, Range: 50, Depth: 3, Life: 20, Domain: "notes/1"}
	for i := range members {
		one := member(fmt.Sprint("member ", i))
		f.Members = append(f.Members, one)
		c.Members, c.Committee = append(c.Members, one.Account), append(c.Committee, one.Account)
	}
	f.Contract = c
	f.Ledger = model.New(c, f.Scheme)
	return f
}

// I1, I3, P43, Q1, Q3, Q4, Q18: the contract in memory decides every case as a real one has to.
func TestModel(t *testing.T) {
	t.Parallel()
	ledgertest.Exercise(t, open)
}

// Blocks that are taken back leave nothing behind.
func TestRevert(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	f := open(t, 1, 0)
	m := model.New(f.Contract, f.Scheme)
	type moment struct {
		number uint64
		states []ledger.StateID
		last   ledger.Intent
		is     bool
	}
	var past []moment
	var all []ledger.Attempt
	for n := range uint64(400) {
		now := moment{number: m.Number(), states: m.States()}
		if len(all) > 0 {
			now.last = all[len(all)-1].Intent
			_, _, now.is = m.Landed(now.last)
		}
		if len(past) > 0 && chance.IntN(3) == 0 {
			m.Revert()
			was := past[len(past)-1]
			past = past[:len(past)-1]
			if _, _, is := m.Landed(was.last); m.Number() != was.number || !slices.Equal(m.States(), was.states) || was.last != (ledger.Intent{}) && is != was.is {
				t.Fatalf("after %d steps: block %d with %d states, want %d with %d", n, m.Number(), len(m.States()), was.number, len(was.states))
			}
			continue
		}
		past = append(past, now)
		var entries []ledger.Entry
		for range 1 + chance.IntN(3) {
			a := ledger.Attempt{Intent: ledger.Intent{Owner: f.Members[0].Account, Sequence: ledger.Sequence{Counter: uint64(chance.IntN(300))}}, Outputs: []ledger.Hash{{1}}}
			if states := m.States(); len(states) > 0 && chance.IntN(2) == 0 {
				a.Inputs = states[:1]
			}
			if len(entries) > 0 && chance.IntN(3) == 0 { // what the entry before creates
				before := entries[len(entries)-1]
				a.Inputs = []ledger.StateID{f.Scheme.State(before.Grant.Assembled, 0)}
			}
			e := ledger.Entry{Attempt: a}
			e.Grant = ledger.Grant{Assembled: f.Scheme.Assembled(f.Contract, a), Coordinator: "c", ValidUntil: 1e6}
			e.Grant.Signature = f.Members[0].Sign(f.Scheme.Granted(f.Contract, e.Grant))
			entries, all = append(entries, e), append(all, a)
		}
		m.Block(ledger.Sent{By: "c", Entries: entries})
	}
}

// P43: the contract decides the same with the scheme of simulations.
func TestModelWithFakeSignatures(t *testing.T) {
	t.Parallel()
	ledgertest.Exercise(t, func(t *testing.T, members, needed int) ledgertest.Fixture {
		f := open(t, members, needed)
		fake := model.Fake{}
		faked := func(name string) ledgertest.Member {
			a := ledger.Account(name)
			return ledgertest.Member{Account: a, Sign: func(h ledger.Hash) []byte { return fake.Sign(a, h) }}
		}
		f.Scheme, f.Stranger = fake, faked("stranger")
		f.Contract.Members, f.Contract.Committee = nil, nil
		for i := range f.Members {
			f.Members[i] = faked(fmt.Sprint("member ", i))
			f.Contract.Members = append(f.Contract.Members, f.Members[i].Account)
		}
		f.Contract.Committee = f.Contract.Members
		f.Ledger = model.New(f.Contract, fake)
		return f
	})
}
