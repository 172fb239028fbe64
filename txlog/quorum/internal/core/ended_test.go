package core

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// bell is a kv with an effect for each goal.
type bell struct{ txlog.State }

func (b bell) Execute([]byte, *txlog.Budget) txlog.Outcome {
	return txlog.Outcome{Effects: []txlog.Effect{{Kind: "bell"}}}
}

// lone is the core of a log's only member.
type lone struct {
	t    *testing.T
	key  ed25519.PrivateKey
	log  txlog.ID
	core *Core
	disk *store.Memory
	now  time.Duration
}

func newLone(t *testing.T) *lone {
	t.Helper()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", LeaseMS: 1000, Members: []txlog.Member{{Name: "n1", Key: fingerprint(key), Store: 1}}}.With()
	l := &lone{t: t, key: key, log: g.ID(), disk: store.NewMemory(1, g)}
	makeState := func() txlog.State { return bell{kv.New()} }
	has, err := Load(l.disk, makeState)
	if err != nil {
		t.Fatal(err)
	}
	if l.core, err = New(Settings{Self: "n1", Key: key, New: makeState}, has); err != nil {
		t.Fatal(err)
	}
	return l
}

// step has the core take an input, and brings what is to be performed.
func (l *lone) step(in Input) (due []Perform) {
	l.t.Helper()
	return l.does(l.core.Step(l.now, in))
}

// does what the core asks for, until nothing is left.
func (l *lone) does(out Output) (due []Perform) {
	l.t.Helper()
	for {
		for _, w := range out.Writes {
			if err := w.To(l.disk); err != nil {
				l.t.Fatal(err)
			}
		}
		for _, a := range out.Acts {
			if p, is := a.(Perform); is {
				due = append(due, p)
			}
		}
		if len(out.Writes) == 0 {
			return due
		}
		out = l.core.Step(l.now, Written{})
	}
}

// What has performed an effect says that it has ended. While the door is shut nothing begins, although the core has not looked at the
// door since; then it begins again. An older word ends nothing: two would perform at once.
func TestAnEffectEnds(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	for range 100 {
		l.now += Round
		l.step(Tick{})
	}
	first := l.step(UserGoal{Ticket: 1, Goal: txlog.Goal{ID: "a", Body: []byte("a")}})
	if len(first) != 1 {
		t.Fatalf("to be performed is %+v", first)
	}
	l.now += time.Hour
	if due := l.step(Ended{Key: first[0].Key, Try: first[0].Try}); len(due) > 0 {
		t.Fatalf("the door is shut, and to be performed is %+v", due)
	}
	again := l.step(Read{Ticket: 2})
	if len(again) != 1 || again[0].Key != first[0].Key {
		t.Fatalf("the door is open, and to be performed is %+v", again)
	}
	if due := l.step(Ended{Key: first[0].Key, Try: first[0].Try}); len(due) > 0 {
		t.Fatalf("it is performed, and to be performed is %+v", due)
	}
	if due := l.step(Ended{Key: again[0].Key, Try: again[0].Try}); len(due) != 1 {
		t.Fatalf("it has ended, and to be performed is %+v", due)
	}
}
