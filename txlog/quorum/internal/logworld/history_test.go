package logworld

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world/patched/patchedtest"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/txlog/kv/kvtest"
)

// What clients are told, goals and fresh reads, is linearizable: an existing checker finds an order of it.
func TestHistoriesAreLinearizable(t *testing.T) {
	t.Parallel()
	scenes := []string{"cut-leader", "paused", "back-and-forth", "power", "lost-disk"}
	if worldtest.Few() {
		scenes = scenes[:1]
	}
	for _, scene := range scenes {
		t.Run(scene, func(t *testing.T) {
			t.Parallel()
			r := play(Config{Seed: 1, Scene: scene, Faults: 20 * time.Second})
			history := historyOf(r)
			if len(history) < 50 {
				t.Fatalf("%d operations show nothing", len(history))
			}
			if err := kvtest.Check(history, time.Minute); err != nil {
				t.Errorf("of %d operations: %v\n\t%s", len(history), err, r.Line())
			}
			for i := range history { // the checker finds what is wrong
				if o := &history[i]; o.Do.Op == "add" && o.Got.Fault == "" {
					o.Got.Result = `{"value":1000000}`
					break
				}
			}
			if err := kvtest.Check(history, time.Minute); err == nil {
				t.Error("a history with a wrong answer has passed")
			}
		})
	}
}

// historyOf returns the goals that work on few keys, and the fresh reads. One that was told to have failed is none. Of one that was
// not answered when the run ended nobody knows whether it was executed.
func historyOf(r *run) (all []kvtest.Operation) {
	asks := slices.Clone(r.asks)
	for _, c := range r.clients {
		if a := c.now; a != nil && !a.done && a.goal != nil {
			asks = append(asks, a)
		}
	}
	for _, a := range asks {
		if a.done && a.answer.verdict != done || a.again {
			continue
		}
		o := kvtest.Operation{
			Client: slices.Index(r.clients, a.by), Got: kvtest.Got{Result: string(a.answer.result), Fault: a.answer.fault}, Call: int64(a.begun), Return: int64(a.ends),
		}
		if !a.done {
			o.Return = kvtest.Never
		}
		if a.goal == nil {
			o.Do = kvtest.Do{Op: "get", Key: a.key}
			all = append(all, o)
			continue
		}
		var goal struct {
			Op, Key       string
			Value, Expect json.RawMessage
			By            int64
		}
		if json.Unmarshal(a.goal, &goal) != nil {
			continue // a goal that is none
		}
		o.Do = kvtest.Do{Op: goal.Op, Key: goal.Key, Value: string(goal.Value), Expect: string(goal.Expect), By: goal.By}
		all = append(all, o)
	}
	return all
}

// The checker finds what comes of a log that breaks a rule, in what its clients were told alone.
func TestBrokenRulesAreSeenInHistories(t *testing.T) {
	worldtest.Whole(t)
	t.Parallel()
	for _, rule := range []string{"look-before-storing", "never-skip"} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			if patchedtest.Elsewhere(t, rule) {
				return
			}
			for seed := range uint64(12) {
				if err := kvtest.Check(historyOf(play(Config{Seed: seed + 1, Break: rule})), time.Minute); errors.Is(err, kvtest.ErrOrder) {
					t.Logf("seen with seed %d", seed+1)
					return
				}
			}
			t.Error("no client was told anything wrong")
		})
	}
}

// A record of the log that no member knows is judged, and so is one that is there twice: the judge can fail.
func TestTheJudgeSees(t *testing.T) {
	if worldtest.Raced {
		t.Skip("the run without the race detector has time for it")
	}
	t.Parallel()
	r := play(Config{Seed: 1, Scene: "calm", Faults: 5 * time.Second})
	if len(r.Found) > 0 || r.top() < 10 {
		t.Fatalf("%d entries and %v", r.top(), r.Found)
	}
	n := r.nodes[0]
	other := play(Config{Seed: 2, Scene: "calm", Faults: 5 * time.Second})
	for what, do := range map[string]func(*run){
		OneRecord:  func(r *run) { r.same(n, other.log[4].Position()) },
		NeverAhead: func(r *run) { r.log = r.log[:5]; r.followed(n, other.log[7]) },
		OneDoor: func(r *run) {
			r.opens(r.nodes[1], 90, r.nodes[1].now(), r.nodes[1].now()+time.Second)
			r.opens(r.nodes[2], 91, r.nodes[2].now()+time.Second/2, r.nodes[2].now()+2*time.Second)
		},
		Once: func(r *run) {
			again := r.log[len(r.log)-1]
			for i := range r.log {
				if r.log[i].GoalID != "" {
					again = r.log[i]
				}
			}
			again.Index = r.top() + 1
			r.committed(n, again)
		},
	} {
		one := play(Config{Seed: 1, Scene: "calm", Faults: 5 * time.Second})
		do(one)
		if !one.Report().Has(what) {
			t.Errorf("%s was broken, and the judge says %s", what, fmt.Sprint(one.Found))
		}
	}
}
