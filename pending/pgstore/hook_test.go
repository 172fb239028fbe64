package pgstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// desk is a shelf with the store of a receiver.
type desk struct {
	shelf
	db   *pgstore.Database
	hook *pgstore.Hook
}

func openDesk(t *testing.T) desk {
	t.Helper()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 2)
	return desk{s, d, d.Hook("shop", current)}
}

// opens returns the place that is stored.
func (d desk) opens() hook.Place {
	d.t.Helper()
	at, _, err := d.hook.Open(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	return at
}

// turns asks for everything, once.
func (d desk) turns(n *hook.Note) hook.Turned {
	d.t.Helper()
	out, err := d.hook.Turn(d.t.Context(), hook.Turn{Note: n, Waits: 10, Without: nil, Events: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	return out
}

// due lists those that wait and are due, with how often they were tried.
func due(out hook.Turned) string {
	slices.SortFunc(out.Waits, func(a, b hook.Wait) int { return int(a.ID - b.ID) })
	all := []string{}
	for _, w := range out.Waits {
		all = append(all, fmt.Sprintf("%d:%d", w.ID, w.Tries))
	}
	return fmt.Sprint(all)
}

// A new receiver is told of what happens from now on. Its successor begins where it was, and is not given what is done.
func TestAReceiverHasAPlace(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.accept("before")
	if at := d.opens(); at.UpTo != 1 || len(at.Beyond) > 0 {
		t.Errorf("a new one begins at %+v, want after what is there", at)
	}
	for _, key := range []string{"a", "b", "c", "d"} {
		d.accept(key)
	}
	out := d.turns(nil)
	if len(out.Events) != 4 || out.Events[0].Key != "a" || out.Settled != 5 || out.Events[3].Age < 0 || out.Events[0].Behind {
		t.Errorf("got %+v, want four events", out)
	}
	want := hook.Place{UpTo: 2, Beyond: [][2]int64{{4, 5}}}
	d.turns(&hook.Note{Place: want, Health: hook.Health{Failures: 3, For: time.Hour, Why: "no\x00\xff"}})
	at, health, err := d.hook.Open(t.Context())
	if fmt.Sprint(at) != fmt.Sprint(want) || err != nil || health.Failures != 3 || health.For < time.Hour || health.For > 2*time.Hour || health.Why != "no\uFFFD" {
		t.Errorf("got %+v and %+v, %v; want %+v and what was noted", at, health, err, want)
	}
	if out := d.turns(nil); len(out.Events) != 3 || out.Events[0].ID != 3 {
		t.Errorf("a successor is given %+v, want what is above the place", out.Events)
	}
}

// What was refused waits, and what follows it of the same intent waits behind it. Dead events do neither, and come again when they are asked for.
func TestWhatAReceiverRefusesWaits(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	one, other := d.accept("one"), d.accept("other")
	park := func(id int64, in pending.Intent, tries int, pause time.Duration) hook.Park {
		return hook.Park{Again: hook.Again{ID: id, Tries: tries, Pause: pause, Why: "no"}, Intent: in.ID}
	}
	d.write(pending.Batch{New: []pending.Slot{slotOf(0, one)}}) // the event 3
	note := hook.Note{Place: hook.Place{UpTo: 3}, Intents: []pending.ID{one.ID, other.ID}}
	note.Park = []hook.Park{park(1, one, 1, time.Hour), park(3, one, 0, 0), park(2, other, 0, 0)}
	says := func(when string, n *hook.Note, want string) hook.Turned {
		t.Helper()
		out := d.turns(n)
		if got := due(out); got != want {
			t.Errorf("%s: %s are due, want %s", when, got, want)
		}
		return out
	}
	out := says("parked", &note, "[2:0]")
	if out.NextDue < time.Minute || out.NextDue > time.Hour || out.Waits[0].Key != "other" || out.Waits[0].Kind != pending.ToldAccepted {
		t.Errorf("got %+v", out)
	}
	says("stored twice", &note, "[2:0]")
	d.done(1, other)
	if out := d.turns(nil); len(out.Events) == 0 || !out.Events[0].Behind {
		t.Errorf("got %+v, want that one of the intent waits", out.Events)
	}
	at := hook.Place{UpTo: 3}
	says("the second is confirmed", &hook.Note{Place: at, Gone: []hook.Put{out.Waits[0].Put}, Intents: []pending.ID{other.ID}}, "[]")
	says("the first is refused again", &hook.Note{Place: at, Again: []hook.Again{{ID: 1, Tries: 2, Pause: time.Nanosecond}}, Intents: []pending.ID{one.ID}}, "[1:2]")
	says("the first is dead", &hook.Note{Place: at, Again: []hook.Again{{ID: 1, Tries: 3, Dead: true, Why: "no"}}, Intents: []pending.ID{one.ID}}, "[3:0]")
	run(t, d.conn, `UPDATE conch.hook_waits SET since = since - interval '80 hours'`)
	if out := says("all are old", &hook.Note{Place: at, Aged: true}, "[]"); out.Died != 1 {
		t.Errorf("%d died, want 1", out.Died)
	}
	dead, err := d.db.DeadEvents(t.Context(), "shop", 9)
	if err != nil || len(dead) != 2 || dead[0].ID != 3 || dead[1].Why != "no" || dead[1].Tries != 3 || dead[1].Intent != one.ID {
		t.Errorf("got %+v, %v; want both, the latest first", dead, err)
	}
	states, err := d.db.HookStates(t.Context())
	if err != nil || len(states) != 1 || states[0].Dead != 2 || states[0].Waiting != 0 || states[0].Behind <= 0 {
		t.Errorf("got %+v, %v", states, err)
	}
	if n, last, err := d.db.Replay(t.Context(), pgstore.Replay{Receiver: "shop", Dead: true, Most: 9}); n != 2 || last != 3 || err != nil {
		t.Errorf("%d are replayed, up to %d, %v", n, last, err)
	}
	out = says("replayed", nil, "[1:0]")
	says("in turn", &hook.Note{Place: at, Gone: []hook.Put{out.Waits[0].Put}, Intents: []pending.ID{one.ID}}, "[3:0]")
}

// An event is not due while an earlier one of its intent waits, also if that was in memory when it became due, and is refused only now.
func TestWhatIsDueWaitsForAnEarlierOne(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	one := d.accept("one")
	d.write(pending.Batch{New: []pending.Slot{slotOf(0, one)}}) // the event 2
	note := hook.Note{Intents: []pending.ID{one.ID}, Park: []hook.Park{{Again: hook.Again{ID: 2}, Intent: one.ID}}}
	if got := due(d.turns(&note)); got != "[2:0]" {
		t.Fatalf("%s are due, want the second event", got)
	}
	note.Park = []hook.Park{{Again: hook.Again{ID: 1, Tries: 1, Pause: time.Hour, Why: "no"}, Intent: one.ID}}
	if got := due(d.turns(&note)); got != "[]" {
		t.Errorf("%s are due, although the first event waits", got)
	}
}

// What is replayed while its POST is under way, or confirmed and not noted yet, is told once more: the note is of the POST before. C4.5.
func TestAReplayOutlivesTheNoteOfAnEarlierPost(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	in := d.accept("a")
	park := hook.Park{Again: hook.Again{ID: 1, Tries: 3, Pause: time.Nanosecond}, Intent: in.ID}
	posted := d.turns(&hook.Note{Place: hook.Place{UpTo: 1}, Park: []hook.Park{park}}).Waits
	if len(posted) != 1 {
		t.Fatalf("%+v are due, want the event", posted)
	}
	all := pgstore.Replay{Receiver: "shop", Event: 1, Kinds: pending.Kinds(), Most: 9}
	if n, _, err := d.db.Replay(t.Context(), all); n != 1 || err != nil {
		t.Fatalf("%d are replayed, %v", n, err)
	}
	confirmed := hook.Note{Place: hook.Place{UpTo: 1}, Gone: []hook.Put{posted[0].Put}, Intents: []pending.ID{in.ID}}
	out := d.turns(&confirmed)
	if got := due(out); got != "[1:0]" {
		t.Fatalf("%s are due, want the event that was counted", got)
	}
	confirmed.Gone[0] = out.Waits[0].Put
	if got := due(d.turns(&confirmed)); got != "[]" {
		t.Errorf("%s are due, want none after the second POST", got)
	}
}

// What was confirmed comes again if it is asked for: one, or all since a time. What is still to be told is not among it.
func TestReplay(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	for i := range 5 {
		d.accept(fmt.Sprint(i))
	}
	d.turns(&hook.Note{Place: hook.Place{UpTo: 2, Beyond: [][2]int64{{4, 4}}}})
	run(t, d.conn, `UPDATE conch.pending_events SET at = at - interval '1 hour' WHERE id = 1`)
	again := func(r pgstore.Replay) string {
		t.Helper()
		run(t, d.conn, `DELETE FROM conch.hook_waits`)
		if r.Receiver, r.Most = "shop", 3; r.Kinds == nil {
			r.Kinds = pending.Kinds()
		}
		n, last, err := d.db.Replay(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %d %s", n, last, due(d.turns(nil)))
	}
	mine := pgstore.Account{Chain: "evm:1", Account: pendingtest.Account}
	for _, c := range []struct {
		of   pgstore.Replay
		want string
	}{
		{pgstore.Replay{Event: 1}, "1 1 [1:0]"},
		{pgstore.Replay{Event: 3}, "0 0 []"},
		{pgstore.Replay{Since: time.Now().Add(-2 * time.Hour)}, "3 4 [1:0 2:0 4:0]"},
		{pgstore.Replay{Since: time.Now().Add(-time.Minute)}, "2 4 [2:0 4:0]"},
		{pgstore.Replay{Since: time.Now().Add(-2 * time.Hour), After: 2}, "1 4 [4:0]"},
		{pgstore.Replay{Event: 1, Kinds: []pending.Kind{pending.ToldFinal}}, "0 0 []"},
		{pgstore.Replay{Event: 1, Accounts: []pgstore.Account{mine}}, "1 1 [1:0]"},
		{pgstore.Replay{Event: 1, Accounts: []pgstore.Account{{Chain: "evm:2", Account: mine.Account}}}, "0 0 []"},
	} {
		if got := again(c.of); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.of, got, c.want)
		}
	}
}

// A leader that was replaced stores nothing.
func TestAStaleLeaderNotesNothing(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	stale := d.db.Hook("shop", fence.Token{Scope: current.Scope, Epoch: 1})
	if _, _, err := stale.Open(t.Context()); !errors.Is(err, fence.ErrStale) {
		t.Errorf("it opens, with %v", err)
	}
	if _, err := stale.Turn(t.Context(), hook.Turn{Note: &hook.Note{Place: hook.Place{UpTo: 9}}}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("it notes, with %v", err)
	}
	if at := d.opens(); at.UpTo != 0 {
		t.Errorf("the place is %+v", at)
	}
}

// What is read beside a note that cannot be stored is read again.
func TestWhatIsReadBesideALostNote(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	d.accept("one")
	run(t, d.conn, `ALTER TABLE conch.hooks RENAME TO away`)
	out, err := d.hook.Turn(t.Context(), hook.Turn{Note: &hook.Note{}, Events: 100})
	if err == nil || len(out.Events) > 0 {
		t.Errorf("got %+v, %v; want that the note cannot be stored", out, err)
	}
	run(t, d.conn, `ALTER TABLE conch.away RENAME TO hooks`)
	if out := d.turns(&hook.Note{}); len(out.Events) != 1 || out.Settled == 0 {
		t.Errorf("then %+v, want the event", out)
	}
}

// An event is not deleted before a receiver was told of it, nor a dead one before it has been dead for as long. A receiver that nobody has any more
// does not count.
func TestEventsAreKeptForReceivers(t *testing.T) {
	t.Parallel()
	d := openDesk(t)
	d.opens()
	for i := range 6 {
		d.accept(fmt.Sprint(i))
	}
	run(t, d.conn, `UPDATE conch.pending_events SET at = at - interval '2 hours' WHERE id < 6`)
	trims := func(when, left string) {
		t.Helper()
		if _, err := d.db.TrimEvents(t.Context(), time.Hour, 9); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := d.conn.QueryRow(t.Context(), `SELECT coalesce(string_agg(id::text, ' ' ORDER BY id), '') FROM conch.pending_events`).Scan(&got); err != nil || got != left {
			t.Errorf("%s: %s are left, %v; want %s", when, got, err, left)
		}
	}
	trims("nothing was told", "1 2 3 4 5 6")
	note := hook.Note{Place: hook.Place{UpTo: 4}, Park: []hook.Park{{Again: hook.Again{ID: 2, Tries: 1, Pause: time.Hour}}, {Again: hook.Again{ID: 3, Dead: true}}}}
	d.turns(&note)
	trims("one waits and one is dead", "2 3 5 6")
	run(t, d.conn, `UPDATE conch.hook_waits SET dead_at = dead_at - interval '2 hours'`)
	trims("it has long been dead", "2 5 6")
	run(t, d.conn, `UPDATE conch.hooks SET seen_at = seen_at - interval '31 days'`)
	trims("nobody has the receiver", "6")
}
