package pgstore_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// P38, P39: what a grant needs and who has endorsed come back as they were, of any length. Bytes that end too early are
// refused: a start that read fewer needs would take a grant for dead that is not.
func TestWhatIsPackedComesBack(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var needs []grants.Need
		var all []ledger.Endorsement
		for range chance.IntN(4) {
			needs = append(needs, grants.Need{
				State: ledger.StateID{byte(chance.Uint64())}, Assembled: ledger.Hash{31: byte(chance.Uint64())},
				Creator: ledger.Intent{Owner: ledger.Account(make([]byte, chance.IntN(200))), Sequence: ledger.Sequence{Lineage: chance.Uint64(), Counter: chance.Uint64()}},
			})
			e := ledger.Endorsement{Member: chance.IntN(1000)}
			if length := chance.IntN(3) * 100; length > 0 {
				e.Signature = make([]byte, length)
			}
			all = append(all, e)
		}
		a, b := pgstore.Pack(needs, all)
		gotNeeds, gotAll, err := pgstore.Unpack(a, b)
		if err != nil || !reflect.DeepEqual(gotNeeds, needs) || !reflect.DeepEqual(gotAll, all) {
			t.Fatalf("%+v and %+v are read as %+v and %+v, %v", needs, all, gotNeeds, gotAll, err)
		}
		for cut := range a {
			if got, _, err := pgstore.Unpack(a[:cut], nil); err == nil && len(got) == len(needs) {
				t.Fatalf("%d of %d bytes are read as all %d needs", cut, len(a), len(got))
			}
		}
		for cut := range b {
			if _, got, err := pgstore.Unpack(nil, b[:cut]); err == nil && len(got) == len(all) {
				t.Fatalf("%d of %d bytes are read as all %d endorsements", cut, len(b), len(got))
			}
		}
	}
}
