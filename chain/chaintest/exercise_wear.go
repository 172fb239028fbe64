package chaintest

import (
	"errors"

	"github.com/conchhq/conch/chain"
)

// version returns the version of the chain's runtime at the head.
func (t *trial) version() string {
	t.Helper()
	v, err := t.Chain.Version(t.ctx, t.head())
	t.ok(err)
	return v
}

// wears returns for how many blocks an attempt is good.
func (t *trial) wears() uint64 {
	t.Helper()
	t.need(t.Upgrade != nil, "wear attempts out")
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d.Era == 0 {
		t.Fatal("attempts wear out, and the description has no era")
	}
	return d.Era
}

// submitOutworn checks that bytes for another version are worthless, and that nothing else is said by that: on a branch without
// the upgrade they are good.
func submitOutworn(t *trial) {
	era, version := t.wears(), t.version()
	old := t.attempts(2)
	for i, s := range old {
		if head := t.head().Number; s.Version != version || s.Until <= head || s.Until > head+era {
			t.Errorf("attempt %d says version %q and is good until %d; want %q, and above the head %d by at most %d", i, s.Version, s.Until, version, head, era)
		}
	}
	t.submit(chain.Accepted, old[0])
	t.Upgrade()
	t.Mine()
	t.seen("included", old[0]) // the block that brings a version is made by the one before
	if now := t.version(); now == version {
		t.Fatalf("after the upgrade the version is still %q", now)
	}
	t.submit(chain.Outworn, old[1])
	t.seen("nowhere", old[1])
	if got := t.next(); got != old[1].Index {
		t.Errorf("got next nonce %d, want %d, which nothing has used", got, old[1].Index)
	}
	_, err := t.Chain.Version(t.ctx, chain.Block{Number: 1, Hash: nowhere})
	if !errors.Is(err, chain.ErrNotFound) && !errors.Is(err, chain.ErrThread) {
		t.Errorf("the version after a block that nobody knows: got error %v, want one that wraps %q", err, chain.ErrNotFound)
	}
	if t.Reorg == nil {
		return
	}
	t.Reorg(1, old, nil)
	if back := t.version(); back != version {
		t.Errorf("on a branch without the upgrade the version is %q, want %q", back, version)
	}
	t.seen("included", old...)
}

// renew checks that what has worn out is signed anew for the same nonce, and outbids nothing.
func renew(t *trial) {
	era := t.wears()
	t.need(t.Drop != nil, "drop a transaction")
	old := t.attempts(1)[0]
	t.submit(chain.Accepted, old)
	t.Drop(old.Hash)
	for range era {
		t.Mine()
	}
	t.submit(chain.Outworn, old)
	draft := chain.Draft{Account: t.Funded, Index: old.Index, Call: t.call(), Same: old.Fee}
	draft.Call.Gas = old.Gas
	fresh := t.prepare(draft)[0]
	if fresh.Hash == old.Hash || fresh.Index != old.Index || fresh.Until <= old.Until {
		t.Errorf("signed anew: %+v, want other bytes for nonce %d that are good for longer than until %d", fresh, old.Index, old.Until)
	}
	if fresh.Fee.Tip.Cmp(old.Fee.Tip) != 0 {
		t.Errorf("signed anew it offers the tip %v, want %v as before", fresh.Fee.Tip, old.Fee.Tip)
	}
	t.submit(chain.Accepted, fresh)
	t.Mine()
	t.seen("included", fresh)
	t.seen("nowhere", old)
}
