package chaintest

import (
	"slices"

	"github.com/conchhq/conch/chain"
)

// effectPartly checks that a call which was carried out in part is called so, by name, and that nobody says of it that it had its
// effect: not even a node that has forgotten it.
func effectPartly(t *trial) {
	t.need(len(t.Half.Data) > 0 && t.Final != nil, "carry out a call in part")
	half := t.prepare(chain.Draft{Account: t.Funded, Index: t.next(), Call: t.Half})[0]
	t.submit(chain.Accepted, half)
	t.Mine()
	place := t.seen("included", half)[0]
	all, err := t.inBlock(place.Block)
	t.ok(err)
	at := slices.IndexFunc(all, func(in chain.Inclusion) bool { return in.Hash == half.Hash })
	if at < 0 {
		t.Fatalf("its block has %+v, and not %v", all, half.Hash)
	}
	in := all[at]
	if in.Effect.Kind != chain.EffectPartly || in.Effect.Why == "" || place.Effect != in.Effect {
		t.Errorf("got the effect %q of the block and %q of a look, want both partly, and what has failed", in.Effect, place.Effect)
	}
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	whole := in
	whole.Effect = chain.EffectOf(false)
	claims := []chain.Claim{{Inclusion: in, By: d.By, At: in.Block}, {Inclusion: whole, By: d.By, At: in.Block}}
	t.Final()
	t.Mine()
	t.Final()
	t.Mine()
	t.Final()
	wants := func(when string, blind bool, want ...chain.Stand) {
		t.Helper()
		got, err := t.Chain.Confirm(t.ctx, claims)
		t.ok(err)
		for i, o := range got {
			if o.Stand != want[i] || o.Blind != blind {
				t.Errorf("%s, claim of %q: got %v, blind %t (%s); want %v, blind %t", when, claims[i].Effect, o.Stand, o.Blind, o.Why, want[i], blind)
			}
		}
	}
	wants("at first", false, chain.Agrees, chain.Differs)
	if t.Forget == nil {
		return
	}
	t.Forget()
	wants("once it is forgotten", true, chain.Agrees, chain.Agrees)
	found, _, err := t.Chain.Scan(t.ctx, t.head(), t.Funded, in.Block.Number, 1)
	t.ok(err)
	if len(found) != 1 || found[0].Hash != half.Hash || found[0].Effect != (chain.Effect{}) {
		t.Errorf("once it is forgotten its block has %+v, want it with an effect that is not known", found)
	}
}
