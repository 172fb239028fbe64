package pending

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// prover is a chain that agrees with every claim, and proves what it is told to.
type prover struct {
	chain.Chain
	proven  chain.Draft
	err     error
	claimed func(chain.Claim) // or nil
}

func (p prover) Confirm(_ context.Context, claims []chain.Claim) ([]chain.Opinion, error) {
	opinions := make([]chain.Opinion, len(claims))
	for i := range opinions {
		if p.claimed != nil {
			p.claimed(claims[i])
		}
		opinions[i] = chain.Opinion{Stand: chain.Agrees, By: "second"}
	}
	return opinions, nil
}

func (p prover) Prove(context.Context, chain.Inclusion) (chain.Draft, error) { return p.proven, p.err }

// Scan returns the transaction that is proven.
func (p prover) Scan(context.Context, chain.Block, chain.Account, uint64, int) ([]chain.Inclusion, uint64, error) {
	return []chain.Inclusion{{Account: p.proven.Account, Index: p.proven.Index, Hash: "0x"}}, 1, nil
}

// W6: a restored database has lost the slot of an intent, which waits again. It is found by the call of its transaction,
// however many others wait before it: hundreds may be put off.
func TestALostSlotIsFoundBehindHundreds(t *testing.T) {
	t.Parallel()
	store := &Memory{}
	accept := func(n int) Intent {
		in, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{To: []byte("x"), Data: fmt.Append(nil, n)}})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	for n := range 1000 {
		accept(n)
	}
	lost := accept(1000)
	l := &loop{Config: Config{Account: "a", Chain: prover{proven: chain.Draft{Account: "a", Index: 7, Call: lost.Call}}, Store: store}}
	got, err := l.survey(t.Context(), survey{First: 7})
	if said, is := got.(surveyed); err != nil || !is || said.Clash != lost.ID || len(said.Proven) != 1 {
		t.Errorf("got %+v, error %v; want the nonce proven, and the intent %x named", got, err, lost.ID)
	}
	l.Again = func(c chain.Call) bool { return c.Equal(lost.Call) }
	got, err = l.survey(t.Context(), survey{First: 7})
	if said, is := got.(surveyed); err != nil || !is || said.Clash != (ID{}) || len(said.Proven) != 1 {
		t.Errorf("got %+v, error %v; want the nonce proven, and nobody waited for: to do it again does no harm", got, err)
	}
}

// doubter is a prover with another opinion.
type doubter struct {
	prover
	stand chain.Stand
}

func (d doubter) Confirm(context.Context, []chain.Claim) ([]chain.Opinion, error) {
	return []chain.Opinion{{Stand: d.stand, By: "second"}}, nil
}

// W2, W3, W6: a nonce without a row counts as used once a second witness agrees and the transaction's own bytes say so. Without the opinion it
// is read again, and what is not proven is told and holds up nothing else.
func TestASurveyCountsWhatTwoWitnessesSay(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stand    chain.Stand
		account  chain.Account
		err      error
		counts   bool
		next     uint64
		troubles int
	}{
		"proven":                {stand: chain.Agrees, account: "a", counts: true, next: 1},
		"no second opinion":     {stand: chain.Mute, account: "a"},
		"a contradiction":       {stand: chain.Differs, account: "a"},
		"of another account":    {stand: chain.Agrees, account: "b", next: 1, troubles: 1},
		"of a hash not its own": {stand: chain.Agrees, account: "a", err: chain.ErrUnproven, next: 1, troubles: 1},
	} {
		l := &loop{Config: Config{
			Account: "a", Chain: doubter{prover{proven: chain.Draft{Account: c.account, Index: 7}, err: c.err}, c.stand}, Store: &Memory{},
		}}
		troubles := 0
		l.Events.Trouble = func(error) { troubles++ }
		got, err := l.survey(t.Context(), survey{First: 7})
		said, _ := got.(surveyed)
		if err != nil || (len(said.Proven) == 1) != c.counts || said.Next != c.next || troubles != c.troubles {
			t.Errorf("%s: got %+v, error %v and %d troubles; want it to count %v, to be read to %d, and %d troubles", name, got, err, troubles, c.counts, c.next, c.troubles)
		}
	}
}

// W2: who is asked for a second opinion is told as of which block the first was, whose it is, and whether the head stands.
func TestWhatASurveyClaims(t *testing.T) {
	t.Parallel()
	of := chain.Block{Number: 9, Hash: "9"}
	for _, still := range []bool{true, false} {
		var got []chain.Claim
		p := prover{proven: chain.Draft{Account: "a", Index: 7}, claimed: func(c chain.Claim) { got = append(got, c) }}
		l := &loop{Config: Config{Account: "a", Chain: p, Store: &Memory{}}}
		if _, err := l.survey(t.Context(), survey{First: 7, Of: of, By: "one", Still: still}); err != nil || len(got) != 1 || got[0].At != of || got[0].By != "one" || got[0].Still != still {
			t.Errorf("the head stands: %v; it claims %+v, error %v", still, got, err)
		}
	}
}

// W3: a transaction of another sender counts only if it is the account's, with this nonce, by its own
// bytes; with the call of the intent it is a lost attempt.
func TestAStrangerIsProven(t *testing.T) {
	t.Parallel()
	call := chain.Call{To: []byte("x"), Data: []byte("pay"), Value: big.NewInt(7), Gas: 21_000}
	more := call
	more.Gas = 90_000
	other := call
	other.Data = []byte("other")
	for name, c := range map[string]struct {
		proven   chain.Draft
		err      error
		foreign  bool
		own, bad bool
		fails    bool
	}{
		"another call":            {proven: chain.Draft{Account: "a", Index: 0, Call: other}, foreign: true},
		"the intent's own call":   {proven: chain.Draft{Account: "a", Index: 0, Call: more}, foreign: true, own: true},
		"another account":         {proven: chain.Draft{Account: "b", Index: 0, Call: other}, foreign: true, bad: true},
		"another nonce":           {proven: chain.Draft{Account: "a", Index: 1, Call: other}, foreign: true, bad: true},
		"a hash that is not its":  {err: fmt.Errorf("%w: hash of zeros", chain.ErrUnproven), foreign: true, bad: true},
		"no answer":               {err: chain.ErrUnreachable, foreign: true, fails: true},
		"a stored attempt: never": {err: chain.ErrUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &Memory{}
			in, err := store.Accept(t.Context(), Intent{Account: "a", Call: call})
			if err != nil {
				t.Fatal(err)
			}
			if err := store.Write(t.Context(), fence.Token{}, Batch{Account: "a", New: []Slot{{Index: 0, Intent: &in.ID, Attempts: []chain.Signed{{Hash: "0a"}}}}}); err != nil {
				t.Fatal(err)
			}
			l := &loop{Config: Config{Account: "a", Chain: prover{proven: c.proven, err: c.err}, Store: store}}
			got, err := l.confirm(t.Context(), confirm{Claims: []claim{{Claim: chain.Claim{Inclusion: chain.Inclusion{Hash: "0x"}}, Foreign: c.foreign}}})
			if (err != nil) != c.fails || err != nil && !errors.Is(err, c.err) {
				t.Fatalf("got %+v, error %v, want an error: %v", got, err, c.fails)
			}
			if c.fails {
				return
			}
			said, is := got.(confirmed)
			if !is || len(said.Claims) != 1 || said.Claims[0].Own != c.own || (said.Claims[0].Unproven != "") != c.bad {
				t.Errorf("got %+v, want own %v and unproven %v", got, c.own, c.bad)
			}
		})
	}
}
