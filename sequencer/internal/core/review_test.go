package core

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// P33: a review has its place among the submissions: what is submitted after it is not among what it names, and would be
// withdrawn. An operator is told why entries wait, as long as they do.
func TestAReviewKeepsItsPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a", declared("a"))
	tx := ledger.Sent{By: "a", Entries: []ledger.Entry{{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: "a"}}}}}
	told := func(want string) {
		t.Helper()
		if got := d.core.Look("k", time.Time{}).Waits; !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Fatalf("it waits for %q, want %q", got, want)
		}
	}
	taken := func(entries int) {
		t.Helper()
		one := must[HandIn](d)
		if len(one.Sent.Entries) != entries {
			t.Fatalf("%d entries are handed in, want %d", len(one.Sent.Entries), entries)
		}
		d.step(Answered{ID: one.ID})
	}
	reviewed := func(answer Answered) {
		t.Helper()
		answer.ID = must[Review](d).ID
		d.step(answer)
	}
	d.submitSent(tx)
	d.submitSent(tx)
	d.errands.addErrand(errand{review: &coordinator.Review{Awaited: tx.Entries}})
	d.submitSent(tx)
	d.submitSent(tx)
	d.step(Refused{"k", "busy"})
	told("not taken: busy")
	taken(1)
	told("")
	d.step(Answered{ID: must[Wait](d).ID})
	taken(1)
	reviewed(Answered{Lost: tx.Entries, Waits: "no money"})
	told("no money")
	taken(2)
	d.errands.addErrand(errand{review: &coordinator.Review{}})
	d.step(Answered{ID: must[Wait](d).ID})
	reviewed(Answered{Err: errors.New("the database is away")})
	told("nobody knows: the database is away")
}

// An outage of the submitter is told once for a contract when it begins and once when it is over, and so is that entries are
// given up, however many reviews and transactions meet it.
func TestReviewsThatFailAreOneLine(t *testing.T) {
	t.Parallel()
	d, away := newDesk(t, "a", declared("a")), errors.New("the database is away")
	const fails, again, given = "it is not known what has become", "it is known again", "was given up"
	for i, one := range []struct {
		lost int
		err  error
		want map[string]int // lines so far
	}{
		{0, nil, map[string]int{}},
		{0, away, map[string]int{fails: 1}},
		{0, away, map[string]int{fails: 1}},
		{0, nil, map[string]int{fails: 1, again: 1}},
		{2, nil, map[string]int{fails: 1, again: 1, given: 1}},
		{0, away, map[string]int{fails: 2, again: 1, given: 1}},
		{3, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{4, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{0, nil, map[string]int{fails: 2, again: 2, given: 1}},
		{1, nil, map[string]int{fails: 2, again: 2, given: 2}},
	} {
		d.errands.reviewAnswered(Answered{Lost: make([]ledger.Entry, one.lost), Waits: "no money", Err: one.err})
		for _, text := range []string{fails, again, given} {
			if got := d.lines(text); got != one.want[text] {
				t.Fatalf("after review %d the log has %d lines with %q, want %d", i, got, text, one.want[text])
			}
		}
	}
}

// A trouble that nobody has met for long is told again when it is met.
func TestASpellRests(t *testing.T) {
	t.Parallel()
	var s spell
	if _, times := s.ends(0); times != 0 {
		t.Fatal("it ends before it begins")
	}
	if !s.meets(time.Second) || s.meets(time.Minute) || s.meets(time.Minute+spellRests) {
		t.Error("it does not begin once")
	}
	if !s.meets(2*time.Minute + 2*spellRests) {
		t.Error("after a long time it does not begin anew")
	}
	if lasted, times := s.ends(3*time.Minute + 2*spellRests); lasted != time.Minute || times != 1 {
		t.Errorf("it was met %d times in %v, want once in a minute", times, lasted)
	}
}

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

// A range that is shorter than ten times what intents take is found out once there are enough of them; waiting for money, a
// revert and one slow intent are no measure.
func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	seq := func(n uint64) ledger.Sequence { return ledger.Sequence{Lineage: 1, Counter: n} }
	run := func(n, takes uint64, ends sender.State) (short bool) {
		p.note(seq(n), sender.Accepted, 10, 40)
		p.note(seq(n), sender.Accepted, 500, 40) // it had to wait, and is assembled anew
		return p.note(seq(n), ends, 500+takes, 40)
	}
	for n := range uint64(leastPaces - 1) {
		if run(n, 4, sender.Confirmed); p.blocks() != 0 {
			t.Fatalf("after %d intents they take %d blocks, want no measure", n+1, p.blocks())
		}
	}
	run(100, 90, sender.Reverted)
	if run(101, 90, sender.Confirmed) || p.blocks() != 4 {
		t.Errorf("with one slow intent they take %d blocks, want 4, and a range of 40 that suffices", p.blocks())
	}
	short := 0
	for n := range uint64(3 * mostPaces) {
		if run(200+n, 5, sender.Confirmed) {
			short++
		}
	}
	if short != 1 || p.blocks() != 5 || len(p.took) > mostPaces || len(p.began) > 0 {
		t.Errorf("a range of 40 is found too short for %d blocks %d times, want for 5, once; kept are %d and %d", p.blocks(), short, len(p.took), len(p.began))
	}
}

// Q14: contents that an earlier start had in memory are read from the store. A read that fails once keeps them from nobody.
func TestWhatIsSharedIsReadAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "alice", declared("alice", "bob"))
	d.offers.shareContents(sender.Share{Assembled: ledger.Hash{1}, Block: 9})
	d.step(Answered{ID: must[ReadAttempts](d).ID, Err: errors.New("the connection is lost")})
	d.core.now += offerEvery
	d.step(Tick{})
	d.step(Answered{ID: must[ReadAttempts](d).ID, Attempts: []wire.Whole{{}}})
	d.step(Tick{})
	if sent := must[Send](d); sent.To != "bob" || sent.Message.Body.Kind() != wire.KindAttempts {
		t.Errorf("%s gets %v, want bob to get the contents", sent.To, sent.Message)
	}
}

// What fails again and again is told once when it begins and once when it is over. An empty transaction that something else
// stands for is no trouble.
func TestATroubleIsOneLine(t *testing.T) {
	t.Parallel()
	for what, one := range map[string]struct {
		do           func(d *desk) uint64
		fails, again string
	}{
		"nudges": {func(d *desk) uint64 { d.nudgeChain(); return must[Nudge](d).ID }, "an empty transaction was not taken", "empty transactions are taken again"},
		"contents": {func(d *desk) uint64 {
			d.serveContents("bob", wire.Message{Request: wire.RequestID{Incarnation: wire.Incarnation{7}, Number: 1}}, wire.AskAttempts{Assembled: []ledger.Hash{{1}}})
			return must[ReadAttempts](d).ID
		}, "attempts cannot be read", "attempts can be read again"},
	} {
		d, away := newDesk(t, "alice", declared("alice", "bob")), errors.New("it is away")
		for i, step := range []struct {
			err          error
			fails, again int // lines so far
		}{{nil, 0, 0}, {away, 1, 0}, {away, 1, 0}, {nil, 1, 1}, {nil, 1, 1}, {away, 2, 1}} {
			d.step(Answered{ID: one.do(d), Err: step.err})
			if fails, again := d.lines(one.fails), d.lines(one.again); fails != step.fails || again != step.again {
				t.Fatalf("%s: after step %d it has failed in %d lines and works again in %d, want %d and %d", what, i, fails, again, step.fails, step.again)
			}
		}
	}
	d := newDesk(t, "alice", declared("alice", "bob"))
	d.nudgeChain()
	if d.step(Answered{ID: must[Nudge](d).ID, Err: ledger.ErrUnderWay}); d.lines("") > 0 {
		t.Error("while something is under way the log says that it fails")
	}
}

// What comes while others are handed over goes together, fifty at most, and in its order: nothing passes a cancellation
// or an entry that it may stand on (P38). The first one does not wait; what comes after it waits for others.
func TestEntriesGoTogether(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "a", declared("a"))
	name := func(i uint64) ledger.Intent {
		return ledger.Intent{Owner: "a", Sequence: ledger.Sequence{Counter: i}}
	}
	var want, got []string
	for i := range uint64(150) {
		tx := ledger.Sent{By: "a", Entries: []ledger.Entry{{Attempt: ledger.Attempt{Intent: name(i)}}}}
		if i == 61 {
			tx = ledger.Sent{By: "a", Cancel: &ledger.Cancellation{Intent: name(i)}}
		}
		want = append(want, fmt.Sprint(tx.Cancel != nil, i))
		d.submitSent(tx)
	}
	var sizes []int
	for len(got) < len(want) {
		one, is := next[HandIn](d)
		if !is { // the first one was handed over
			wait := must[Wait](d)
			if wait.For != gathering {
				t.Errorf("it waits for %v, want %v", wait.For, gathering)
			}
			d.step(Answered{ID: wait.ID})
			continue
		}
		sizes = append(sizes, len(one.Sent.Entries))
		for _, e := range one.Sent.Entries {
			got = append(got, fmt.Sprint(false, e.Sequence.Counter))
		}
		if one.Sent.Cancel != nil {
			got = append(got, fmt.Sprint(true, one.Sent.Cancel.Sequence.Counter))
		}
		if _, two := next[HandIn](d); two {
			t.Fatal("two are handed over at once")
		}
		d.step(Answered{ID: one.ID})
	}
	if !slices.Equal(got, want) {
		t.Errorf("handed over are %v", got)
	}
	if want := []int{1, 50, 10, 0, 50, 38}; !slices.Equal(sizes, want) {
		t.Errorf("transactions have %v entries, want %v", sizes, want)
	}
}
