package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Q14: as many attempts are lacked as there are members, and nobody has the first one. Each member is asked for each attempt in as
// many turns, whatever comes and goes meanwhile, and its owner first.
func TestEachMemberIsAskedForEachAttempt(t *testing.T) {
	t.Parallel()
	for count := 1; count < 6; count++ {
		for members := 1; members < 6; members++ {
			var others []ledger.Account
			for i := range members {
				others = append(others, ledger.Account(fmt.Sprint("member-", i)))
			}
			missing := lacked(count, others)
			l, asked, now := lacks{}, map[ledger.Hash]map[ledger.Account]bool{}, time.Duration(0)
			for turn := range members {
				if turn == 1 { // another one is lacked, and one is heard
					missing = append(missing, lacked(count+1, others)[count])
					missing = missing[min(1, count-1):]
				}
				for _, one := range l.turn(missing, members, now) {
					if asked[one.Assembled] == nil {
						asked[one.Assembled] = map[ledger.Account]bool{}
					}
					if asked[one.Assembled][one.whom(others)] = true; one.tries == 1 && one.whom(others) != one.Owner {
						t.Errorf("%v asks %s first, and the owner is %s", one.Assembled, one.whom(others), one.Owner)
					}
				}
				now += betweenAsks
			}
			last := missing[:len(missing)-min(1, members-1)] // the one that came later lacks a turn
			for _, m := range last {
				if len(asked[m.Assembled]) != members {
					t.Errorf("%d lacked: %d of %d members are asked for one of them", count, len(asked[m.Assembled]), members)
				}
			}
		}
	}
}

func lacked(count int, owners []ledger.Account) (all []book.Missing) {
	for i := range count {
		all = append(all, book.Missing{Intent: ledger.Intent{Owner: owners[i%len(owners)]}, Assembled: ledger.Hash{byte(i + 1)}, Number: uint64(i)})
	}
	return all
}

// What nobody has is asked for ever more seldom; what is lacked later is asked for at once. More than one request can name wait
// for no more than their turn.
func TestTurns(t *testing.T) {
	t.Parallel()
	others := []ledger.Account{"a", "b"}
	l := lacks{}
	var pauses []time.Duration
	for last, now := time.Duration(0), time.Duration(0); len(pauses) < 11; now += betweenAsks {
		if due := l.turn(lacked(1, others), len(others), now); len(due) > 0 {
			pauses = append(pauses, now-last)
			last = now
		}
	}
	const s = time.Second
	if want := "[0s 500ms 500ms 1s 2s 4s 8s 16s 32s 1m0s 1m0s]"; fmt.Sprint(pauses) != want {
		t.Errorf("the pauses are %v, want %s", pauses, want)
	}
	if due := l.turn(lacked(2, others), len(others), 200*s); len(due) != 1 || due[0].Assembled != (ledger.Hash{2}) {
		t.Errorf("%d are asked for, want the new one", len(due))
	}
	if l.turn(nil, len(others), 201*s); len(l) > 0 {
		t.Errorf("%d are remembered that nobody lacks", len(l))
	}

	seen, all := map[ledger.Hash]bool{}, make([]book.Missing, 3*mostLacked)
	for i := range all {
		all[i] = book.Missing{Intent: ledger.Intent{Owner: "a"}, Assembled: ledger.Hash{byte(i), byte(i >> 8)}}
	}
	for turn := range 3 {
		for _, one := range l.turn(all, len(others), 300*s+time.Duration(turn)*betweenAsks) {
			seen[one.Assembled] = true
		}
	}
	if len(seen) != len(all) {
		t.Errorf("%d of %d are asked for in three turns", len(seen), len(all))
	}
}
