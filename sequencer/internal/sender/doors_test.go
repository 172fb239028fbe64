package sender

import (
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// P34: for every reason of the ledger it is said whose fault it is that an attempt was skipped. Only the owner's counts
// against the intent, only the coordinator's has that left out, and nobody's moves the intent at most.
func TestEveryReasonIsAtADoor(t *testing.T) {
	t.Parallel()
	const waits, moves, counts, blames = "k1 is granted", "k1 is delegated, with \"a\"", "failures 1", "leave a out until the range turns"
	says := map[ledger.Reason][]string{
		ledger.Malformed:   {moves, counts},
		ledger.NotMember:   {moves, counts},
		ledger.Repeated:    {waits},
		ledger.Expired:     {waits},
		ledger.NotGranted:  {waits},
		ledger.NotEndorsed: {"k1 is delegated, with \"b\"", blames},
		ledger.Missing:     {moves},
	}
	if len(doors) != int(ledger.Missing)+1 || len(says) != int(ledger.Missing) {
		t.Fatalf("%d reasons are at a door, and %d are tried, of %d", len(doors)-1, len(says), ledger.Missing)
	}
	for r, want := range says {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			s := newStory(t)
			s.play("submit k1 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored")
			got := s.play("block k1=A1:" + strings.ReplaceAll(r.String(), " ", "-"))
			said := strings.Join(append(got, s.play("status")...), "\n")
			for _, one := range []string{waits, moves, counts, blames} {
				if strings.Contains(said, one) != slices.Contains(want, one) {
					t.Errorf("it says, and not %q:\n%s", want, said)
				}
			}
			if blamed := s.m.Blamed(); (len(blamed) > 0) != slices.Contains(want, blames) {
				t.Errorf("%v are blamed", blamed)
			}
		})
	}
}
