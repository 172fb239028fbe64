package pgstore_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// crier calls for the slots of one scope.
type crier struct {
	*testing.T
	s    *pgstore.Store
	conn *pgx.Conn
}

const slotLength = 5 * time.Minute

func newCrier(t *testing.T) *crier {
	t.Helper()
	s, conn := opened(t)
	return &crier{t, s, conn}
}

// begin makes one call under an epoch, which is minted for it.
func (c *crier) begin(epoch int64, slot pgstore.Slot) pgstore.Turn {
	c.Helper()
	run(c.T, c.conn, `UPDATE public.minted SET epoch = $1`, epoch)
	slot.Length = slotLength
	turn, err := c.s.BeginSlot(c.Context(), c.token(epoch), slot)
	if err != nil {
		c.Fatal(err)
	}
	return turn
}

func (c *crier) token(epoch int64) fence.Token {
	return fence.Token{Scope: "backup", Epoch: epoch, Holder: "me", Term: fence.Term{byte(epoch)}}
}

// end ends the command of a call.
func (c *crier) end(epoch int64, call [16]byte, code int) {
	c.Helper()
	if err := c.s.EndSlot(c.Context(), c.token(epoch), call, code); err != nil {
		c.Fatal(err)
	}
}

// passes lets time pass for what is stored.
func (c *crier) passes(d time.Duration) {
	c.Helper()
	run(c.T, c.conn, `UPDATE conch.slots SET called_at = called_at - make_interval(secs => $1)`, d.Seconds())
}

// The rule of the simulated town is that of the database.
func TestTheRuleIsTheDatabases(t *testing.T) {
	t.Parallel()
	_, conn := opened(t)
	random := rand.New(rand.NewPCG(46, 1))
	base := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	var taken, called []time.Time
	var lengths []float64
	var want []bool
	for i := range 10_000 {
		length := time.Duration(1+random.IntN(86_400)) * time.Second
		was := time.Duration(random.Int64N(int64(4 * length))).Truncate(time.Microsecond)
		now := was + time.Duration(random.Int64N(int64(3*length))).Truncate(time.Microsecond) - length*3/2
		if i%10 == 0 { // at the very edge, and beside it
			now = was + length*9/10 - time.Duration(random.IntN(2))*time.Microsecond
		}
		taken, called = append(taken, base.Add(was)), append(called, base.Add(now))
		lengths, want = append(lengths, length.Seconds()), append(want, slotFree(was, now, length))
	}
	got := scan[[]bool](t, conn, `SELECT array_agg(conch.slot_free(a, b, make_interval(secs => l)) ORDER BY n)
		FROM unnest($1::timestamptz[], $2::timestamptz[], $3::float8[]) WITH ORDINALITY AS u(a, b, l, n)`, taken, called, lengths)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("taken at %s, called at %s, a slot of %v s: the database says %v", taken[i], called[i], lengths[i], got[i])
		}
	}
}

// The first call takes a slot, and no other does until nine tenths of it have passed; what the clock of a caller says is asked by nobody.
func TestASlotIsTakenOnce(t *testing.T) {
	t.Parallel()
	c := newCrier(t)
	first := pgstore.NewCall()
	if turn := c.begin(1, pgstore.Slot{Call: first}); !turn.Taken || turn.Last != (pgstore.Run{}) {
		t.Fatalf("the first call: %+v", turn)
	}
	if turn := c.begin(1, pgstore.Slot{Call: first}); !turn.Taken || turn.Last.CutOff() {
		t.Errorf("the same call, which had no answer: %+v", turn)
	}
	if turn := c.begin(2, pgstore.Slot{Call: first}); !turn.Taken {
		t.Errorf("the same call under a later token: %+v", turn)
	}
	if turn := c.begin(3, pgstore.Slot{Call: pgstore.NewCall()}); turn.Taken || !turn.Last.CutOff() || turn.Last.Holder != "me" {
		t.Errorf("another call: %+v", turn)
	}
	c.passes(slotLength*9/10 - 10*time.Second)
	if turn := c.begin(3, pgstore.Slot{Call: pgstore.NewCall()}); turn.Taken {
		t.Errorf("a call that is early: %+v", turn)
	}
	c.passes(10 * time.Second)
	if turn := c.begin(3, pgstore.Slot{Call: pgstore.NewCall(), Waited: time.Minute}); turn.Taken {
		t.Errorf("a call of the slot before, which had to wait: %+v", turn)
	}
	next := pgstore.NewCall()
	if turn := c.begin(4, pgstore.Slot{Call: next}); !turn.Taken || !turn.Last.CutOff() {
		t.Errorf("the next slot: %+v", turn)
	}
	c.end(4, next, 0)
	c.end(4, first, 7)    // of a call whose slot is over
	c.passes(-slotLength) // the clock goes back
	if turn := c.begin(5, pgstore.Slot{Call: pgstore.NewCall()}); !turn.Taken || turn.Last.CutOff() || turn.Last.Code != 0 {
		t.Errorf("a slot that was taken while the clock was ahead: %+v", turn)
	}
	if err := exec(t, c.conn, `UPDATE conch.slots SET called_at = 'infinity'`); !refused(err, "23514") {
		t.Errorf("a slot for ever: %v", err)
	}
}

// A call that had to wait takes its slot as of when it was made, so the next one comes in time.
func TestWaitingDoesNotPushTheNextSlot(t *testing.T) {
	t.Parallel()
	c := newCrier(t)
	if !c.begin(1, pgstore.Slot{Call: pgstore.NewCall(), Waited: time.Minute}).Taken {
		t.Fatal("the slot is not taken")
	}
	c.passes(slotLength - time.Minute)
	if !c.begin(2, pgstore.Slot{Call: pgstore.NewCall()}).Taken {
		t.Error("the next slot is not taken")
	}
}

// Only where it is asked for, a slot whose command has failed or was cut off is taken again, and the next slot stays where it was.
func TestAFailedSlotIsTakenAgain(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"failed": 3, "cut off": -1, "done": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCrier(t)
			call := pgstore.NewCall()
			c.begin(1, pgstore.Slot{Call: call})
			if code >= 0 {
				c.end(1, call, code)
			}
			c.passes(slotLength / 2)
			if turn := c.begin(2, pgstore.Slot{Call: pgstore.NewCall()}); turn.Taken {
				t.Errorf("without being asked: %+v", turn)
			}
			again := pgstore.NewCall()
			if turn := c.begin(2, pgstore.Slot{Call: again, Again: true}); turn.Taken != (code != 0) || turn.Last.CutOff() != (code < 0) || turn.Last.Code != max(code, 0) {
				t.Errorf("asked for: %+v", turn)
			}
			if code != 0 {
				c.end(2, again, 0)
				if n := scan[int](t, c.conn, `SELECT tries FROM conch.slots`); n != 2 {
					t.Errorf("%d tries, want 2", n)
				}
			}
			c.passes(slotLength / 2)
			if !c.begin(3, pgstore.Slot{Call: pgstore.NewCall()}).Taken {
				t.Error("the next slot is not taken")
			}
			if n := scan[int](t, c.conn, `SELECT tries FROM conch.slots`); n != 1 {
				t.Errorf("%d tries of the next slot, want 1", n)
			}
		})
	}
}

// A token that is over takes no slot and ends none.
func TestAStaleTokenTakesNoSlot(t *testing.T) {
	t.Parallel()
	c := newCrier(t)
	call := pgstore.NewCall()
	c.begin(7, pgstore.Slot{Call: call})
	c.passes(slotLength)
	if _, err := c.s.BeginSlot(t.Context(), c.token(6), pgstore.Slot{Call: pgstore.NewCall(), Length: slotLength}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("begin: %v", err)
	}
	if err := c.s.EndSlot(t.Context(), c.token(6), call, 0); !errors.Is(err, fence.ErrStale) {
		t.Errorf("end: %v", err)
	}
	if epoch, ended := scan[int64](t, c.conn, `SELECT epoch FROM conch.slots`), scan[bool](t, c.conn, `SELECT ended_at IS NOT NULL FROM conch.slots`); epoch != 7 || ended {
		t.Errorf("the row has epoch %d, ended %v", epoch, ended)
	}
}

// Even if a fence did not keep them apart, one of three that call at once takes the slot.
func TestOneOfThreeAtOnce(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	stores := []*pgstore.Store{open(t, db.Config()), open(t, db.Config()), open(t, db.Config())}
	c := &crier{t, stores[0], db.Connect(t)}
	for round := range 30 {
		var taken atomic.Int32
		var all sync.WaitGroup
		for machine, s := range stores {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				// They have waited differently long, as machines with other clocks would.
				slot := pgstore.Slot{Call: pgstore.NewCall(), Length: slotLength, Waited: time.Duration(machine) * 5 * time.Second}
				turn, err := s.BeginSlot(ctx, c.token(1), slot)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				if turn.Taken {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		if n := taken.Load(); n != 1 {
			t.Fatalf("round %d: %d have taken the slot", round, n)
		}
		c.passes(slotLength)
	}
}
