package core

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// B8: a goal without an answer times out after 15 seconds, or after what the settings say; and then it has not failed.
func TestGoalTimeout(t *testing.T) {
	t.Parallel()
	for set, want := range map[time.Duration]time.Duration{0: 15 * time.Second, 10 * time.Second: 10 * time.Second} {
		key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
		g := txlog.Genesis{Namespace: "flags", Machine: "kv/1", Members: []txlog.Member{{Name: "n1", Store: 1}}}.With()
		has, err := Load(store.NewMemory(2, g), kv.New)
		if err != nil {
			t.Fatal(err)
		}
		core, err := New(Settings{Self: "n2", Key: key, New: kv.New, GoalTimeout: set}, has)
		if err != nil {
			t.Fatal(err)
		}
		core.Step(0, Suggested{Name: "n1"})
		core.Step(0, UserGoal{Ticket: 1, Goal: txlog.Goal{ID: "a", Body: []byte("goal")}})
		for now := Round; ; now += Round {
			timedOut := false
			for _, a := range core.Step(now, Tick{}).Acts {
				tell, is := a.(Tell)
				if _, out := tell.Event.(TimedOut); is && out {
					timedOut = true
				}
				if _, is := a.(TicketEnded); is {
					t.Fatalf("after %v there is an answer: %+v", now, a)
				}
			}
			if timedOut || now > 20*time.Second {
				if now != want {
					t.Errorf("with %v it times out after %v", set, now)
				}
				break
			}
		}
	}
	if (Settings{Self: "a", New: kv.New, GoalTimeout: -1}).Validate() == nil {
		t.Error("a timeout below 0 is taken")
	}
}
