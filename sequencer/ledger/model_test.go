package ledger_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/ranking"
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
	f.Ledger = ledger.NewModel(c, f.Scheme)
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
	m := ledger.NewModel(f.Contract, f.Scheme)
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

// P1: every fault of a declaration is named, and what is dangerous is said.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	good := open(t, 4, 3).Contract
	if err := good.Validate(); err != nil || good.Warning() != "" {
		t.Errorf("got error %v and the warning %q, want none", err, good.Warning())
	}
	if good.Needed = 2; !strings.Contains(good.Warning(), "no majority") {
		t.Errorf("2 of 4: got the warning %q, want one about majorities", good.Warning())
	}
	short := good
	if short.Life = 2; short.Validate() == nil {
		t.Error("grants of 2 blocks are never used, and there is no fault") // Q16
	}
	bad := ledger.Contract{Members: []ledger.Account{"a", "a", ""}, Committee: []ledger.Account{"b"}, Needed: 4}
	err := bad.Validate()
	for _, want := range []string{"twice among its members", "number 2 of its members", "in its committee and no member", "4 endorsements of 3", "one at least", "no address"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
}

// P1: nodes compare one hash: each field of a declaration is in it.
func TestADeclarationHasOneHash(t *testing.T) {
	t.Parallel()
	base := open(t, 3, 2).Contract
	hashes := map[ledger.Hash]string{ledger.Plain{}.Declared(base): "as it is"}
	for what, change := range map[string]func(*ledger.Contract){
		"chain":     func(c *ledger.Contract) { c.Chain++ },
		"address":   func(c *ledger.Contract) { c.Address += "0" },
		"members":   func(c *ledger.Contract) { c.Members = c.Members[1:] },
		"order":     func(c *ledger.Contract) { c.Members = []ledger.Account{c.Members[1], c.Members[0], c.Members[2]} },
		"committee": func(c *ledger.Contract) { c.Committee = c.Committee[1:] },
		"needed":    func(c *ledger.Contract) { c.Needed++ },
		"range":     func(c *ledger.Contract) { c.Range++ },
		"depth":     func(c *ledger.Contract) { c.Depth++ },
		"life":      func(c *ledger.Contract) { c.Life++ },
		"domain":    func(c *ledger.Contract) { c.Domain += "0" },
		"policy":    func(c *ledger.Contract) { c.Policy = "ring" },
	} {
		c := base
		change(&c)
		h := ledger.Plain{}.Declared(c)
		if other, is := hashes[h]; is {
			t.Errorf("another %s has the hash of %s", what, other)
		}
		hashes[h] = what
	}
}

// P3: a declaration says how its committee is ranked, and its orders stay as they are. Nothing said is rendezvous.
func TestADeclarationRanksItsCommittee(t *testing.T) {
	t.Parallel()
	c := ledger.Contract{Chain: 1, Address: "0xc0ffee", Members: []ledger.Account{"a", "b", "c", "d"}, Needed: 3, Range: 10, Depth: 1, Life: 9, Domain: "d"}
	c.Committee = c.Members
	for policy, want := range map[string]string{
		"":           "dabc bacd bdca abcd",
		"rendezvous": "dabc bacd bdca abcd",
		"ring":       "dcba dbac cabd dcba",
	} {
		if c.Policy = policy; c.Validate() != nil {
			t.Fatal(c.Validate())
		}
		committee, err := c.Ranking()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for r := range ranking.Range(4) {
			got = append(got, strings.Join(committee.Order(r), ""))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q orders %q, want %q", policy, got, want)
		}
	}
	named := c
	if c.Policy, named.Policy = "", "rendezvous"; (ledger.Plain{}).Declared(c) != (ledger.Plain{}).Declared(named) {
		t.Error("the default has another hash when it is named")
	}
	if c.Policy = "sticky"; c.Validate() == nil || !strings.Contains(c.Validate().Error(), `ranked by "sticky"`) {
		t.Errorf("an unknown policy: %v, want it named", c.Validate())
	}
}

// P43: the contract decides the same with the scheme of simulations.
func TestModelWithFakeSignatures(t *testing.T) {
	t.Parallel()
	ledgertest.Exercise(t, func(t *testing.T, members, needed int) ledgertest.Fixture {
		f := open(t, members, needed)
		fake := ledgertest.Fake{}
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
		f.Ledger = ledger.NewModel(f.Contract, fake)
		return f
	})
}

// A declaration that is allowed, and dangerous or slow, is warned of.
func TestWarnings(t *testing.T) {
	t.Parallel()
	fine := ledger.Contract{Members: []ledger.Account{"a", "b", "c"}, Needed: 2, Range: 30, Depth: 2}
	if got := fine.Warning(); got != "" {
		t.Errorf("of %+v: %s", fine, got)
	}
	few, short := fine, fine
	few.Needed, short.Range = 1, 29
	if got := few.Warning(); !strings.HasPrefix(got, "1 endorsement of 3 members is no majority") {
		t.Errorf("one endorsement of three: %q", got)
	}
	if got := short.Warning(); !strings.Contains(got, "29 blocks is shorter than 10 times") {
		t.Errorf("a short range: %q", got)
	}
}
