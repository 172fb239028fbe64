package chaintest

import (
	"slices"

	"github.com/conchhq/conch/chain"
)

func inclusions(t *trial) { t.inclusions(false) }

// inclusionsOfSubmitted checks a block of submitted transactions and a foreign one.
func inclusionsOfSubmitted(t *trial) { t.inclusions(true) }

func (t *trial) inclusions(submitted bool) {
	t.need(t.Foreign != nil && t.Seal != nil, "include a foreign transaction")
	first := t.next()
	bad := t.failing()
	ours := t.prepare(chain.Draft{Account: t.Funded, Index: first, Call: t.call()}, chain.Draft{Account: t.Funded, Index: first + 2, Call: bad})
	if submitted {
		t.submit(chain.Accepted, ours...)
	}
	foreign := t.Foreign(first + 1)
	t.Seal(ours[0], foreign, ours[1])
	at := t.seen("included", ours[0])[0].Block
	got, err := t.inBlock(at)
	t.ok(err)
	want := []chain.Inclusion{
		{Account: t.Funded, Index: first, Hash: ours[0].Hash, Block: at, Effect: chain.EffectOf(false)},
		{Account: t.Funded, Index: first + 1, Hash: foreign.Hash, Block: at, Effect: chain.EffectOf(false)},
		{Account: t.Funded, Index: first + 2, Hash: ours[1].Hash, Block: at, Effect: chain.EffectOf(true)},
	}
	if len(got) != len(want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i := range want {
		if !sameKind(got[i], want[i]) {
			t.Errorf("got %+v, want %+v", got[i], want[i])
		}
	}
	again, err := t.inBlock(at)
	t.ok(err)
	if !slices.Equal(again, got) {
		t.Errorf("asked again: got %+v, want %+v", again, got)
	}
	if none, err := t.Chain.Inclusions(t.ctx, at, []chain.Account{t.Poor}); err != nil || len(none) != 0 {
		t.Errorf("of an account that sent nothing: got %v, %v, want none", none, err)
	}
	_, err = t.Chain.Inclusions(t.ctx, chain.Block{Number: 9, Hash: nowhere}, []chain.Account{t.Funded})
	t.wants(err, chain.ErrNotFound)
}

// inBlock returns what two accounts have in a block, of which the parent may be left out.
func (t *trial) inBlock(at chain.Block) ([]chain.Inclusion, error) {
	got, err := t.Chain.Inclusions(t.ctx, at, []chain.Account{t.Poor, t.Funded})
	for i := range got {
		got[i].Block.Parent = at.Parent
	}
	return got, err
}

// inclusionsOfOursAlone checks what a driver may read in another way: blocks after one of ours alone.
func inclusionsOfOursAlone(t *trial) {
	t.need(t.Foreign != nil && t.Seal != nil, "include a foreign transaction")
	next := t.next()
	bad := t.failing()
	seal := func(foreign bool, calls ...chain.Call) {
		t.Helper()
		var drafts []chain.Draft
		for i, call := range calls {
			drafts = append(drafts, chain.Draft{Account: t.Funded, Index: next + uint64(i), Call: call})
		}
		block := t.prepare(drafts...)
		t.submit(chain.Accepted, block...)
		next += uint64(len(calls))
		if foreign {
			block = append(block, t.Foreign(next))
			next++
		}
		t.Seal(block...)
		var want []chain.Inclusion
		at := t.seen("included", block[0])[0].Block
		for i, s := range block {
			failed := i < len(calls) && calls[i].Equal(bad)
			want = append(want, chain.Inclusion{Account: t.Funded, Index: next - uint64(len(block)-i), Hash: s.Hash, Block: at, Effect: chain.EffectOf(failed)})
		}
		got, err := t.inBlock(at)
		if t.ok(err); !slices.EqualFunc(got, want, sameKind) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	seal(false, t.call())
	seal(false, t.call(), bad, t.call())
	seal(true, t.call(), bad)
	seal(false, t.call())
	seal(false, bad)
	t.submit(chain.Accepted, t.prepare(chain.Draft{Account: t.Funded, Index: next, Call: t.call()})...)
	_, err := t.Chain.Inclusions(t.ctx, chain.Block{Number: 9, Hash: nowhere}, []chain.Account{t.Funded})
	t.wants(err, chain.ErrNotFound)
}
