package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
)

// whole returns an account without faults: three requests were acknowledged; a fourth was
// not but was done, a fifth was neither; of three revocable ones the first was cancelled in
// its slot, the second without a slot, and the third rejected; and a known third party sent
// one transaction. Each test corrupts one thing.
func whole() evidence.Account {
	slot := func(n uint64) *uint64 { return &n }
	return evidence.Account{
		Requests: []evidence.Request{
			{Key: "k0", Deed: "d0", IDs: []string{"i0"}},
			{Key: "k1", Deed: "d1", IDs: []string{"i1"}},
			{Key: "k2", Deed: "d2", IDs: []string{"i2"}},
			{Key: "k3", Deed: "d3"},
			{Key: "k4", Deed: "d4"},
			{Key: "k5", Deed: "d5", IDs: []string{"i5"}, Revocable: true},
			{Key: "k6", Deed: "d6", IDs: []string{"i6"}, Revocable: true},
			{Key: "k7", Deed: "d7", IDs: []string{"i7"}, Revocable: true},
		},
		Mined: []evidence.Mined{
			{Hash: "h0", Nonce: 0, Block: 2, Deed: "d0"},
			{Hash: "h1b", Nonce: 1, Block: 2, Deed: "d1"}, // its second attempt
			{Hash: "h2b", Nonce: 2, Block: 4, Deed: evidence.Nothing},
			{Hash: "h3", Nonce: 3, Block: 4, Deed: "d3"},
			{Hash: "theirs", Nonce: 4, Block: 4, Deed: "dx"},
			{Hash: "h5", Nonce: 5, Block: 5, Deed: "d2"},
		},
		Count: 6,
		Final: 5,
		Intents: []evidence.Intent{
			{"i0", "done", "d0", slot(0)},
			{"i1", "done", "d1", slot(1)},
			{"i2", "done", "d2", slot(5)},
			{"i3", "done", "d3", slot(3)},
			{"i5", "cancelled", "d5", slot(2)},
			{"i6", "cancelled", "d6", nil},
			{"i7", "rejected", "d7", nil},
		},
		Nonces:  []uint64{0, 1, 2, 3, 4, 5},
		Hashes:  []string{"h0", "h1a", "h1b", "h2a", "h2b", "h3", "h4", "h5"},
		Epochs:  []int64{1, 2, 3},
		Foreign: []string{"theirs"},
	}
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
	if err != nil || string(got) != `{"intents":6,"done":3,"missing":0,"twice":0,"nonce_gaps":0}` {
		t.Errorf("the verdict is %s, %v", got, err)
	}
}

// An account in which no request was acknowledged proves nothing.
func TestAnAccountThatNobodyUsed(t *testing.T) {
	r := sound()
	r.Account = &evidence.Account{}
	if err := evidence.Judge(r).Fault(false); err == nil || !strings.Contains(err.Error(), "no transaction was acknowledged") {
		t.Errorf("got fault %v, want one that says that no transaction was acknowledged", err)
	}
	a := whole()
	for i := range a.Requests {
		a.Requests[i].IDs = nil
	}
	if c := evidence.JudgeAccount(a); c.Fault() == nil || c.Intents != 0 || c.Faults != nil {
		t.Errorf("got %+v with fault %v, want a fault, no intents and no list of faults", c, c.Fault())
	}
}
