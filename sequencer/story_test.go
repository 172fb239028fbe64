package sequencer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
)

// An intent's story has each step with its time and its nodes, and all nodes say the same of the contract.
func TestStories(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		var mu sync.Mutex
		var told []sequencer.Told
		g.told = func(m sequencer.Told) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, m)
		}
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		owner := g.members[0].node
		s, err := owner.Submit(ctx, "k", "funds", []byte(`{"issue": {"to": "office", "amount": 10}}`), 0)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := owner.Wait(ctx, "k", "funds"); err != nil || !r.Confirmed {
			t.Fatalf("it ended as %+v, %v", r, err)
		}
		story, err := owner.Story(ctx, "k", s)
		if err != nil {
			t.Fatal(err)
		}
		var events []string
		for i, m := range story {
			events = append(events, m.Event)
			if m.At.IsZero() || i > 0 && m.At.Before(story[i-1].At) {
				t.Errorf("moment %d is at %v, after one at %v", i, m.At, story[max(i-1, 0)].At)
			}
			switch m.Event {
			case "offered", "acknowledged", "asked for an attempt", "grant stored":
				if !slices.Contains(g.declared.Members, m.With) {
					t.Errorf("%q names no coordinator", m.Event)
				}
			case "dispatched":
				if len(m.Endorsers) != 2 || m.Endorsers[0] == m.Endorsers[1] || m.Assembled == (ledger.Hash{}) {
					t.Errorf("it was dispatched with the endorsements of %v for %v, want two members' for an attempt", m.Endorsers, m.Assembled)
				}
			case "landed", "result stored":
				if m.Block == 0 || m.Assembled == (ledger.Hash{}) {
					t.Errorf("%q names the block %d and the attempt %v", m.Event, m.Block, m.Assembled)
				}
			}
		}
		// The block may come before the word that it was dispatched.
		for _, want := range []string{"row stored", "offered", "acknowledged", "asked for an attempt", "asked for the grant", "grant stored", "landed", "final", "result stored"} {
			if !slices.Contains(events, want) {
				t.Errorf("the story is %v, want %q in it", events, want)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		var stages []string
		for _, m := range told {
			if m.Sequence == s && m.Stage != "" && m.Stage != "dispatched" { // see above
				stages = append(stages, m.Stage)
			}
			if m.Sequence == s && m.Key != "funds" {
				t.Errorf("%q is told of the key %q", m.Event, m.Key)
			}
		}
		if want := []string{"stored", "included", "confirmed"}; !slices.Equal(stages, want) {
			t.Errorf("its stages are %v, want %v", stages, want)
		}
		if told := slices.DeleteFunc(told, func(m sequencer.Told) bool { return m.Sequence != s }); len(told) != len(story) {
			t.Errorf("%d moments were told, and the story has %d", len(told), len(story))
		}
		if _, err := owner.Story(ctx, "other", s); !errors.Is(err, sequencer.ErrContract) {
			t.Errorf("the story of another contract: got error %v, want ErrContract", err)
		}
	})
}

// Each node knows who coordinates, what it has open, and how far the others are.
func TestStatus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		for _, o := range g.members {
			o.start()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		owner := g.members[0].node
		heard := false
		for i := 0; !heard; i++ { // once the second one is under way, a block is final, and at last a member says so
			key := fmt.Sprint("funds ", i)
			if _, err := owner.Submit(ctx, "k", key, []byte(`{"issue": {"to": "office", "amount": 10}}`), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := owner.Wait(ctx, "k", key); err != nil {
				t.Fatalf("intent %d: %v; no member is heard with a final block", i, err)
			}
			s, err := owner.Status(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			heard = s.Final > 0 && slices.ContainsFunc(s.Members, func(h sequencer.Member) bool { return h.Final > 0 && !h.At.IsZero() })
		}
		const skips = "[disowned expired malformed missing not_a_member not_endorsed repeated]"
		var named ledger.Account
		for i, o := range g.members {
			s, err := o.node.Status(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			if i == 0 {
				named = s.Coordinator
			}
			if s.Coordinator != named || s.Next == "" || s.Coordinates == nil || fmt.Sprint(slices.Sorted(maps.Keys(s.Skipped))) != skips || len(s.Members) != 2 || s.Head < s.Final || len(s.Intents) != 0 {
				t.Errorf("%s says %+v, want the coordinator %v", o.name, s, named)
			}
		}
		if got := owner.Contracts(); len(got) != 1 || got[0] != "k" {
			t.Errorf("its contracts are %v, want k", got)
		}
	})
}

// P1: nodes that were given different declarations of a contract say so, each of the other, until they agree.
func TestAnotherDeclarationIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		g := newGroup(t, 3, 2)
		odd := g.members[2]
		for _, o := range g.members {
			if o == odd {
				g.declared.Range++
			}
			o.start()
			if o == odd {
				g.declared.Range--
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		differs := func(o, of *organisation) bool {
			s, err := o.node.Status(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(s.Members, func(h sequencer.Member) bool { return h.Account == account(of.name) && h.Differs })
		}
		one, two := g.members[0], g.members[1]
		until(ctx, t, "both name the other", func() bool { return differs(one, odd) && differs(odd, one) && differs(odd, two) })
		if differs(one, two) || differs(two, one) {
			t.Error("two nodes with one declaration are said to differ")
		}
		odd.halt()
		odd.start()
		until(ctx, t, "they agree", func() bool { return !differs(one, odd) && !differs(odd, one) })
	})
}

// until waits for a condition.
func until(ctx context.Context, t *testing.T, what string, cond func() bool) {
	t.Helper()
	for !cond() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}
