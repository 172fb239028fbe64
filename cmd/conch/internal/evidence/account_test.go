package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
)

// whole is an account of which all went well: three were acknowledged, a fourth
// customer never heard and its wish was done all the same, a fifth's was not, and a
// nonce was filled. Each test doctors one thing.
func whole() evidence.Account {
	a := evidence.Account{
		Wishes: []evidence.Wish{
			{Key: "k0", Mark: "0x00", IDs: []string{"i0"}},
			{Key: "k1", Mark: "0x01", IDs: []string{"i1"}},
			{Key: "k2", Mark: "0x02", IDs: []string{"i2"}},
			{Key: "k3", Mark: "0x03"},
			{Key: "k4", Mark: "0x04"},
		},
		Mined: []evidence.Mined{
			{Hash: "h0", Nonce: 0, Block: 2, Mark: "0x00"},
			{Hash: "h1b", Nonce: 1, Block: 2, Mark: "0x01"}, // its second attempt
			{Hash: "h2", Nonce: 2, Block: 4, Mark: evidence.NoMark},
			{Hash: "h3", Nonce: 3, Block: 4, Mark: "0x03"},
			{Hash: "h4", Nonce: 4, Block: 5, Mark: "0x02"},
		},
		Final:   5,
		Intents: []evidence.Intent{{"i0", "done"}, {"i1", "done"}, {"i2", "done"}, {"i3", "done"}},
		Nonces:  []uint64{0, 1, 2, 3, 4},
		Hashes:  []string{"h0", "h1a", "h1b", "h2", "h3", "h4"},
		Epochs:  []int64{1, 2, 3},
	}
	return a
}

func TestAWholeAccountIsFoundWhole(t *testing.T) {
	r := sound()
	a := whole()
	r.Account = &a
	v := evidence.Judge(r)
	if err := v.Fault(true); err != nil {
		t.Fatal(err)
	}
	if v.Leaders != 5 {
		t.Errorf("%d leaders acted, want 2 of the work and 3 of the account", v.Leaders)
	}
	got, err := json.Marshal(v.Chain)
	if err != nil || string(got) != `{"intents":3,"done":3,"missing":0,"twice":0,"nonce_gaps":0}` {
		t.Errorf("the verdict reads %s, %v", got, err)
	}
}

// Issue 5: each intent done exactly once, nonces contiguous, hashes in the chain ⊆
// hashes in the database, every acknowledged ID terminal; whatever else is found
// fails the verdict, and says what it was. (S15, S23, S26)
func TestEveryDoctoredAccountIsFound(t *testing.T) {
	type counts struct{ done, missing, twice, gaps, foreign, endless, split int }
	for _, c := range []struct {
		name   string
		doctor func(*evidence.Account)
		want   counts
		says   string
	}{
		{"a transaction at the end is not in the chain", func(a *evidence.Account) {
			a.Mined = a.Mined[:4]
		}, counts{done: 2, missing: 1, gaps: 1}, "k2 was acknowledged and is not done"},
		{"one in the middle is not in the chain", func(a *evidence.Account) {
			a.Mined = append(a.Mined[:1:1], a.Mined[2:]...)
		}, counts{done: 2, missing: 1, gaps: 1}, "k1 was acknowledged"},
		{"nothing is in the chain", func(a *evidence.Account) {
			a.Mined = nil
		}, counts{missing: 3, gaps: 5}, "k0 was acknowledged"},
		{"its nonce is filled and it is nowhere", func(a *evidence.Account) {
			a.Mined[0].Mark = evidence.NoMark
		}, counts{done: 2, missing: 1}, "k0 was acknowledged"},
		{"it is in the chain without effect", func(a *evidence.Account) {
			a.Mined[0].Failed = true
		}, counts{done: 2, missing: 1}, "k0 was acknowledged"},
		{"it is in a block that is not final", func(a *evidence.Account) {
			a.Final = 4
		}, counts{done: 2, missing: 1}, "k2 was acknowledged"},
		{"one was done twice", func(a *evidence.Account) {
			a.Mined[2].Mark = "0x01"
		}, counts{done: 3, twice: 1}, "k1 was done 2 times, by h1b and h2"},
		{"one was done twice, the second not final yet", func(a *evidence.Account) {
			a.Mined = append(a.Mined, evidence.Mined{Hash: "h0", Nonce: 5, Block: 6, Mark: "0x00"})
		}, counts{done: 3, twice: 1}, "k0 was done 2 times"},
		{"one whose customer never heard was done twice", func(a *evidence.Account) {
			a.Mined[2].Mark = "0x03"
		}, counts{done: 3, twice: 1}, "k3 was done 2 times"},
		{"a nonce was given away and is not used", func(a *evidence.Account) {
			a.Nonces = append(a.Nonces, 5)
		}, counts{done: 3, gaps: 1}, "nonce 5 of 6 is not in the chain"},
		{"nonces were jumped over", func(a *evidence.Account) {
			a.Mined[4].Nonce, a.Nonces[4] = 7, 7
		}, counts{done: 3, gaps: 3}, "nonce 4 of 8"},
		{"a hash is not in the database", func(a *evidence.Account) {
			a.Hashes = a.Hashes[:5]
		}, counts{done: 3, foreign: 1}, "h4 is in the chain and not in the database"},
		{"an attempt that nobody stored was mined", func(a *evidence.Account) {
			a.Mined[1].Hash = "h1c"
		}, counts{done: 3, foreign: 1}, "h1c is in the chain and not in the database"},
		{"one that nobody asked for", func(a *evidence.Account) {
			a.Mined[2].Mark = "0xff"
		}, counts{done: 3, foreign: 1}, "h2 is in the chain and nobody asked for it"},
		{"an acknowledged ID is still open", func(a *evidence.Account) {
			a.Intents[1].Fate = "open"
		}, counts{done: 3, endless: 1}, "k1 was acknowledged as i1, which is still open"},
		{"an acknowledged ID is unknown", func(a *evidence.Account) {
			a.Intents = a.Intents[1:]
		}, counts{done: 3, endless: 1}, "k0 was acknowledged as i0, which the database does not know"},
		{"an acknowledged one was given up", func(a *evidence.Account) {
			a.Intents[0].Fate, a.Mined[0].Mark = "rejected", evidence.NoMark
		}, counts{done: 2, missing: 1}, "k0 was acknowledged"},
		{"one was given up and done", func(a *evidence.Account) {
			a.Intents[0].Fate = "cancelled"
		}, counts{done: 3, endless: 1}, "k0 was acknowledged as i0, which is cancelled, and is in the chain"},
		{"a nonce is used again", func(a *evidence.Account) {
			a.Mined[3].Nonce, a.Nonces = 2, []uint64{0, 1, 2, 4}
		}, counts{done: 3, gaps: 2}, "nonce 2 is in the chain again, by h3"},
		{"one key is two transactions", func(a *evidence.Account) {
			a.Wishes[0].IDs = append(a.Wishes[0].IDs, "i3")
		}, counts{done: 3, split: 1}, "k0 was acknowledged as [i0 i3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := whole()
			c.doctor(&a)
			r := sound()
			r.Account = &a
			v := evidence.Judge(r)
			got := counts{v.Chain.Done, v.Chain.Missing, v.Chain.Twice, v.Chain.NonceGaps, v.Chain.Foreign, v.Chain.Endless, v.Chain.Split}
			if got != c.want || v.Chain.Intents != 3 {
				t.Errorf("%d intents, %+v; want 3, %+v", v.Chain.Intents, got, c.want)
			}
			if err := v.Fault(false); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the verdict says %v; want %q", err, c.says)
			}
		})
	}
}

// What was doctored so that nothing stands out shows nothing either.
func TestAnAccountThatNobodyUsed(t *testing.T) {
	r := sound()
	r.Account = &evidence.Account{}
	if err := evidence.Judge(r).Fault(false); err == nil || !strings.Contains(err.Error(), "no transaction was acknowledged") {
		t.Errorf("fault %v", err)
	}
	a := whole()
	a.Wishes[0].IDs, a.Wishes[1].IDs, a.Wishes[2].IDs = nil, nil, nil
	if c := evidence.JudgeAccount(a); c.Fault() == nil || c.Intents != 0 || c.First != "" {
		t.Errorf("%+v, fault %v", c, c.Fault())
	}
}
