package evidence_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

type damage struct {
	name   string
	doctor func(*evidence.Account)
	counts counts
	faults string // all faults, one per line
}

type counts struct{ done, missing, twice, gaps int }

// Each intent is done exactly once or given up, nonces are contiguous, every hash in the
// chain is in the database, and every acknowledged ID has ended. Any deviation fails the
// verdict by name. (S15, S23, S26)
func TestEveryDoctoredAccountIsFound(t *testing.T) {
	for _, c := range slices.Concat(missing, twice, misnumbered, strange, broken) {
		t.Run(c.name, func(t *testing.T) {
			a := whole()
			c.doctor(&a)
			r := sound()
			r.Account = &a
			v := evidence.Judge(r)
			got := counts{v.Chain.Done, v.Chain.Missing, v.Chain.Twice, v.Chain.NonceGaps}
			if found := strings.Join(v.Chain.Faults, "\n"); got != c.counts || found != c.faults {
				t.Errorf("got %+v\n%s\nwant %+v\n%s", got, found, c.counts, c.faults)
			}
			if err := v.Fault(false); err == nil || !strings.Contains(err.Error(), v.Chain.Faults[0]) {
				t.Errorf("got fault %v, want one that names the first", err)
			}
		})
	}
}

// Requests that are not in the chain, or not in a final block.
var missing = []damage{
	{"a transaction at the end is not in the chain", func(a *evidence.Account) {
		a.Mined, a.Count, a.Nonces = a.Mined[:5], 5, a.Nonces[:5]
	}, counts{done: 2, missing: 1}, "k2 was acknowledged and is not done in any final block\ni2 is done, and not in any final block"},
	{"one in the middle is not in the chain", func(a *evidence.Account) {
		a.Mined, a.Count = append(a.Mined[:1:1], a.Mined[2:]...), 5
	}, counts{done: 2, missing: 1, gaps: 1}, "k1 was acknowledged and is not done in any final block\nnonce 1 of 6 is not in the chain\ni1 is done, and not in any final block"},
	{"nothing is in the chain", func(a *evidence.Account) {
		a.Mined, a.Count, a.Nonces, a.Intents = nil, 0, nil, a.Intents[:3]
		a.Requests = a.Requests[:3]
	}, counts{missing: 3}, `k0 was acknowledged and is not done in any final block
k1 was acknowledged and is not done in any final block
k2 was acknowledged and is not done in any final block
i0 is done, and not in any final block
i1 is done, and not in any final block
i2 is done, and not in any final block`},
	{"its nonce is filled and it is nowhere", func(a *evidence.Account) {
		a.Mined[0].Deed = evidence.Nothing
	}, counts{done: 2, missing: 1}, "k0 was acknowledged and is not done in any final block\ni0 is done, and not in any final block"},
	{"it is in the chain without effect", func(a *evidence.Account) {
		a.Mined[0].Failed = true
	}, counts{done: 2, missing: 1}, "k0 was acknowledged and is not done in any final block\nh0 is in the chain and had no effect\ni0 is done, and not in any final block"},
	{"it is in a block that is not final", func(a *evidence.Account) {
		a.Final = 4
	}, counts{done: 2, missing: 1}, "k2 was acknowledged and is not done in any final block\ni2 is done, and not in any final block"},
	{"one is done in the database alone, and its customer got no answer", func(a *evidence.Account) {
		a.Mined[3].Deed = evidence.Nothing
	}, counts{done: 3}, "i3 is done, and not in any final block"},
	{"one that is not revocable was given up", func(a *evidence.Account) {
		a.Intents[0].Fate, a.Intents[0].Nonce, a.Mined[0].Deed = "rejected", nil, evidence.Nothing
	}, counts{done: 2, missing: 1}, "k0 was acknowledged and is not done in any final block"},
	{"a revocable one is not in the chain and was not revoked", func(a *evidence.Account) {
		a.Intents[5].Fate = "done"
	}, counts{done: 3, missing: 1}, "k6 was acknowledged and is not done in any final block\ni6 is done, and not in any final block"},
}

// Requests that were done too often.
var twice = []damage{
	{"one was done twice", func(a *evidence.Account) {
		a.Mined[3].Deed, a.Intents[3].Deed, a.Intents[3].Fate, a.Intents[3].Nonce = "d1", "d3", "rejected", nil
	}, counts{done: 3, twice: 1}, "k1 was done 2 times, by h1b and h3"},
	{"one was done twice, the second not final yet", func(a *evidence.Account) {
		a.Mined, a.Count = append(a.Mined, evidence.Mined{Hash: "h0", Nonce: 6, Block: 6, Deed: "d0"}), 7
	}, counts{done: 3, twice: 1}, "k0 was done 2 times, by h0 and h0"},
	{"one whose customer got no answer was done twice", func(a *evidence.Account) {
		a.Mined, a.Count = append(a.Mined, evidence.Mined{Hash: "h4", Nonce: 6, Block: 6, Deed: "d3"}), 7
	}, counts{done: 3, twice: 1}, "k3 was done 2 times, by h3 and h4"},
	{"one key is two transactions", func(a *evidence.Account) {
		a.Requests[0].IDs = append(a.Requests[0].IDs, "i0b")
		a.Intents = append(a.Intents, evidence.Intent{ID: "i0b", Fate: "done", Deed: "d0"})
	}, counts{done: 3}, "k0 was acknowledged as [i0 i0b]"},
}

// Nonces that do not follow one another.
var misnumbered = []damage{
	{"a nonce was assigned and is not used", func(a *evidence.Account) {
		a.Nonces = append(a.Nonces, 6)
	}, counts{done: 3, gaps: 1}, "nonce 6 of 7 is not in the chain"},
	{"nonces were jumped over", func(a *evidence.Account) {
		a.Mined[5].Nonce, a.Nonces[5] = 7, 7
	}, counts{done: 3, gaps: 2}, "nonce 5 of 8 is not in the chain\nnonce 6 of 8 is not in the chain"},
	{"a nonce is used again", func(a *evidence.Account) {
		a.Mined[5].Nonce, a.Nonces = 4, a.Nonces[:5]
	}, counts{done: 3, gaps: 1}, "nonce 4 is in the chain after nonce 4, by h5"},
	{"nonces are not in their order", func(a *evidence.Account) {
		a.Mined[0].Nonce, a.Mined[1].Nonce = 1, 0
	}, counts{done: 3, gaps: 1}, "nonce 0 is in the chain after nonce 1, by h1b"},
	{"the chain does not show what it counts", func(a *evidence.Account) {
		a.Count = 7
	}, counts{done: 3, gaps: 1}, "the chain counts 7 transactions and shows 6"},
}

// Transactions that should not be in the chain.
var strange = []damage{
	{"a hash is not in the database", func(a *evidence.Account) {
		a.Hashes = a.Hashes[:7]
	}, counts{done: 3}, "h5 is in the chain and not in the database"},
	{"an attempt that nobody stored was mined", func(a *evidence.Account) {
		a.Mined[1].Hash = "h1c"
	}, counts{done: 3}, "h1c is in the chain and not in the database"},
	{"a filler that nobody stored was mined", func(a *evidence.Account) {
		a.Mined[2].Hash = "h2c"
	}, counts{done: 3}, "h2c is in the chain and not in the database"},
	{"one of an unknown third party", func(a *evidence.Account) {
		a.Foreign = nil
	}, counts{done: 3}, "theirs is in the chain and not in the database"},
	{"one of a third party does what was acknowledged", func(a *evidence.Account) {
		a.Mined[0].Deed, a.Mined[4].Deed = evidence.Nothing, "d0"
	}, counts{done: 2, missing: 1}, "k0 was acknowledged and is not done in any final block\ni0 is done, and not in any final block"},
	{"one that nobody asked for", func(a *evidence.Account) {
		a.Requests = append(a.Requests[:3:3], a.Requests[4:]...)
	}, counts{done: 3}, "h3 is in the chain and nobody asked for it: d3"},
	{"one without effect whose customer got no answer", func(a *evidence.Account) {
		a.Mined[3].Failed = true
	}, counts{done: 3}, "h3 is in the chain and had no effect\ni3 is done, and not in any final block"},
	{"one that had no effect, beside one that had", func(a *evidence.Account) {
		a.Mined, a.Count = append(a.Mined, evidence.Mined{Hash: "h4", Nonce: 6, Block: 6, Deed: "d0", Failed: true}), 7
	}, counts{done: 3}, "h4 is in the chain and had no effect"},
	{"a filler that had no effect", func(a *evidence.Account) {
		a.Mined[2].Failed = true
	}, counts{done: 3}, "h2b is in the chain and had no effect"},
}

// Rows of the database that contradict the chain.
var broken = []damage{
	{"an acknowledged ID has not ended", func(a *evidence.Account) {
		a.Intents[1].Fate = "open"
	}, counts{done: 3}, "i1 has not ended: it is open"},
	{"one that was not acknowledged has not ended", func(a *evidence.Account) {
		a.Intents[3].Fate = "open"
	}, counts{done: 3}, "i3 has not ended: it is open"},
	{"an acknowledged ID is unknown", func(a *evidence.Account) {
		a.Intents = a.Intents[1:]
	}, counts{done: 3}, "k0 was acknowledged as i0, which the database does not know"},
	{"a revocable one is unknown", func(a *evidence.Account) {
		a.Intents = a.Intents[:6]
	}, counts{done: 3, missing: 1}, "k7 was acknowledged and is not done in any final block\nk7 was acknowledged as i7, which the database does not know"},
	{"acknowledged as something else", func(a *evidence.Account) {
		a.Requests[6].Deed = "d9"
	}, counts{done: 3}, "k6 was acknowledged as i6, which is something else: d6"},
	{"cancelled in its slot, and done", func(a *evidence.Account) {
		a.Mined[2].Deed = "d5"
	}, counts{done: 4}, "i5 is cancelled, and 1 times in the chain\ni5 is cancelled, and its nonce 2 is not filled in any final block"},
	{"cancelled without a slot, and done", func(a *evidence.Account) {
		a.Mined[3].Deed, a.Intents[3].Deed, a.Requests[3].Deed = "d6", "d6", "d8"
	}, counts{done: 4}, "i6 is cancelled, and 1 times in the chain"},
	{"cancelled, and in the chain without effect", func(a *evidence.Account) {
		a.Mined[2].Deed, a.Mined[2].Failed, a.Intents[4].Nonce = "d5", true, nil
	}, counts{done: 3}, "h2b is in the chain and had no effect\ni5 is cancelled, and 1 times in the chain"},
	{"cancelled before the filler is final", func(a *evidence.Account) {
		a.Mined[2].Block = 6
	}, counts{done: 3}, "i5 is cancelled, and its nonce 2 is not filled in any final block"},
	{"cancelled, and its nonce is used by another transaction", func(a *evidence.Account) {
		a.Mined[2].Deed = "d4"
	}, counts{done: 3}, "i5 is cancelled, and its nonce 2 is not filled in any final block"},
	{"cancelled, and another nonce is filled", func(a *evidence.Account) {
		a.Intents[4].Nonce = a.Intents[3].Nonce
	}, counts{done: 3}, "i5 is cancelled, and its nonce 3 is not filled in any final block"},
	{"rejected, and done", func(a *evidence.Account) {
		a.Mined[3].Deed, a.Intents[3].Deed = "d7", "d7"
	}, counts{done: 4}, "i7 is rejected, and 1 times in the chain"},
	{"given up, and done", func(a *evidence.Account) {
		a.Intents[0].Fate, a.Intents[0].Nonce = "cancelled", nil
	}, counts{done: 3}, "i0 is cancelled, and 1 times in the chain"},
}
