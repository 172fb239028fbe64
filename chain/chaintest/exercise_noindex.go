package chaintest

import "github.com/conchhq/conch/chain"

// seenInBlocks is seen where nothing is found by its hash: attempts of Funded are looked for in all blocks, and of the pool only
// their number is known.
func (t *trial) seenInBlocks(want string, attempts ...chain.Signed) []chain.Sighting {
	t.Helper()
	sightings := make([]chain.Sighting, len(attempts))
	placed := t.placed()
	for i, a := range attempts {
		in, is := placed[a.Hash]
		if is {
			sightings[i] = chain.Sighting{Block: chain.Block{Number: in.Block.Number, Hash: in.Block.Hash}, Effect: in.Effect}
		}
		if is != (want == "included") {
			t.Fatalf("attempt %d is in a block: %t, want it %s", i, is, want)
		}
	}
	return sightings
}

// placed returns what the blocks up to the head have of Funded.
func (t *trial) placed() map[chain.Hash]chain.Inclusion {
	t.Helper()
	all, head := map[chain.Hash]chain.Inclusion{}, t.head()
	for from := uint64(0); from <= head.Number; {
		found, next, err := t.Chain.Scan(t.ctx, head, t.Funded, from, 50)
		t.ok(err)
		for _, in := range found {
			all[in.Hash] = in
		}
		from = next
	}
	return all
}

// noIndex checks that a chain without an index says how many transactions a pool has, and proves one by its block alone.
func noIndex(t *trial) {
	d, err := t.Chain.Describe(t.ctx)
	t.ok(err)
	if d.NoIndex != t.NoIndex {
		t.Fatalf("the description says NoIndex %t, and the fixture %t", d.NoIndex, t.NoIndex)
	}
	t.need(t.NoIndex, "find nothing by a hash")
	ours := t.attempts(2)
	t.submit(chain.Accepted, ours...)
	if n, err := t.Chain.Pooled(t.ctx, t.Funded); err != nil || n != ours[1].Index+1 {
		t.Errorf("got the next nonce %d with the pool, error %v; want %d", n, err, ours[1].Index+1)
	}
	t.Mine()
	t.Mine()
	in := t.placed()[ours[0].Hash]
	p, err := t.Chain.Prove(t.ctx, in)
	t.ok(err)
	if p.Account != t.Funded || p.Index != ours[0].Index {
		t.Errorf("got %+v, want nonce %d of %v", p, ours[0].Index, t.Funded)
	}
	in.Block = t.head()
	_, err = t.Chain.Prove(t.ctx, in)
	t.wants(err, chain.ErrNotFound)
}
