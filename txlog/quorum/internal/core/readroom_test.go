package core

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/member"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// The fresh reads of the leader's own users take not all of the room: those of the others have theirs. What finds none waits for it, also if it
// is the others that have filled it.
func TestTheLeadersRoomForReads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		others, most  int
		first         bool // the others come first
		room, refused int  // of the own ones, and of the others
	}{
		{1, share + 5, false, own, 5},
		{5, share, true, 1000 - 5*share, 0},
	} {
		l := newLone(t)
		for range 100 {
			l.now += Round
			l.step(Tick{})
		}
		var reads, asks Batch
		for i := range 1000 {
			reads = append(reads, Read{Ticket: uint64(i + 1)})
		}
		for i := range c.others {
			for k := range c.most {
				asks = append(asks, Received{From: fmt.Sprint("n", i+2), Body: wire.Confirm{Serial: uint64(k + 1)}})
			}
		}
		all := Batch{reads, asks}
		if c.first {
			all = Batch{asks, reads}
		}
		answered, refused := 0, 0
		count := func(out Output) Output {
			for _, a := range out.Acts {
				switch a := a.(type) {
				case TicketEnded:
					answered++
					if a.Err != nil {
						t.Errorf("a read of its own users: %v", a.Err)
					}
				case Send:
					if c, is := a.Body.(wire.Confirmed); is && errors.Is(c.Err, txlog.ErrTooMany) {
						refused++
					}
				}
			}
			return out
		}
		out := count(l.core.Step(l.now, all))
		if answered != c.room || refused != c.refused { // those that have room are answered at once
			t.Errorf("%d of its own users' reads have room, and %d of the others' have none, want %d and %d", answered, refused, c.room, c.refused)
		}
		l.does(out)
		for range 20 {
			l.now += Round
			l.does(count(l.core.Step(l.now, Tick{})))
		}
		if answered != 1000 || len(l.core.tickets)+len(l.core.remote) > 0 {
			t.Errorf("%d of its own users' reads are answered, and %d wait", answered, len(l.core.tickets)+len(l.core.remote))
		}
	}
}

// A read that is given up says what it has waited for.
func TestWhatAReadHasWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		says *wire.Confirmed
		want error
	}{
		{"nobody answers", nil, member.ErrUnconfirmed},
		{"the leader has no room", &wire.Confirmed{Err: txlog.ErrTooMany}, ErrManyReads},
		{"it does not lead", &wire.Confirmed{Err: txlog.NotLeaderError{}}, member.ErrUnconfirmed},
		{"the copy does not come as far", &wire.Confirmed{Index: 50}, ErrLags},
	} {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", LeaseMS: 1000, Members: []txlog.Member{{Name: "n1", Key: fingerprint(key), Store: 1}}}.With()
		has, err := Load(store.NewMemory(4, g), kv.New)
		if err != nil {
			t.Fatal(err)
		}
		core, err := New(Settings{Self: "n4", Key: key, New: kv.New}, has)
		if err != nil {
			t.Fatal(err)
		}
		var got []error
		var now time.Duration
		does := func(in Input) {
			var answers []Input
			for _, a := range core.Step(now, in).Acts {
				switch a := a.(type) {
				case TicketEnded:
					got = append(got, a.Err)
				case Send:
					if ask, is := a.Body.(wire.Confirm); is && c.says != nil {
						said := *c.says
						said.Serial = ask.Serial
						answers = append(answers, Received{From: a.To, Body: said})
					}
				}
			}
			for _, in := range answers {
				core.Step(now, in)
			}
		}
		does(Read{Ticket: 1})
		for range patience/Round + 1 {
			now += Round
			does(Tick{})
		}
		if len(got) != 1 || !errors.Is(got[0], c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
