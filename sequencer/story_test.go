package sequencer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/sequencer/sequencertest/liar"
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
			if s.Coordinator != named || s.Next == "" || len(s.Order) != 3 || s.Order[0] != named || len(s.NextOrder) != 3 || s.NextOrder[0] != s.Next || s.Coordinates == nil || fmt.Sprint(slices.Sorted(maps.Keys(s.Skipped))) != skips || len(s.Members) != 2 || s.Head < s.Final || len(s.Intents) != 0 {
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

// spoiling puts one wrong byte into a signature of each entry, as a coordinator does that lies, or whose memory is damaged.
type spoiling struct{ *sequencertest.Chain }

func (s spoiling) Submit(ctx context.Context, tx ledger.Sent) error {
	tx.Entries = slices.Clone(tx.Entries)
	for i, e := range tx.Entries {
		signed := slices.Clone(e.Endorsements)
		signed[0].Signature = wrong(signed[0].Signature)
		tx.Entries[i].Endorsements = signed
	}
	return s.Chain.Submit(ctx, tx)
}

func wrong(signature []byte) []byte {
	signature = slices.Clone(signature)
	signature[0]++
	return signature
}

func signsWrongly(bad *organisation) {
	lie, _ := liar.Named("signs wrongly")
	bad.lie = &lie
}

// P34, Q3: what one node signs or sends wrongly is at the door of that node. The intents of the others end as confirmed, and log
// and status name the node; what it has spoilt is counted where it was.
func TestOneNodeIsBlamedForItsSignatures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		place int // of the bad one, in the order of the range
		spoil func(bad *organisation)
		log   string
		named bool // at the others
		skips bool
		own   string // what it says of itself
	}{
		{"a coordinator sends what is not endorsed", 0, func(bad *organisation) { bad.ledger = spoiling{bad.chain} }, "it is left out until the range turns", true, true, ""},
		{"a coordinator has a damaged key", 0, func(bad *organisation) { bad.keys = garbage{} }, "this node cannot sign", false, false, "is not its signature"},
		{"a member signs wrongly", 1, signsWrongly, "a member signs wrongly", true, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				g := newGroup(t, 4, 2)
				g.sleepAfter = time.Hour
				g.declared.Committee = g.declared.Members[1:] // the first one issues
				committee, err := g.declared.Ranking()
				if err != nil {
					t.Fatal(err)
				}
				at := slices.IndexFunc(g.members, func(o *organisation) bool {
					return string(account(o.name)) == committee.Order(0)[c.place]
				})
				bad, good := g.members[at], slices.Delete(slices.Clone(g.members), at, at+1)
				c.spoil(bad)
				var log bytes.Buffer
				g.log = slog.New(slog.NewTextHandler(&log, nil))
				for _, o := range g.members {
					o.start()
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				for _, o := range g.members { // one that does not listen yet is left out
					if _, err := o.node.Status(ctx, "k"); err != nil {
						t.Fatal(err)
					}
				}
				submit := func(o *organisation, key, request string) {
					if _, err := o.node.Submit(ctx, "k", key, []byte(request), 0); err != nil {
						t.Fatal(err)
					}
				}
				submit(good[0], "funds", `{"issue": {"to": "office", "amount": 12}}`)
				for i := range 12 {
					submit(good[i%3], fmt.Sprint(i), `{"pay": {"from": "office", "to": "desk", "amount": 1}}`)
				}
				submit(bad, "bad", `{"pay": {"from": "desk", "to": "office", "amount": 1}}`)
				for i := range 12 {
					if r, err := good[i%3].node.Wait(ctx, "k", fmt.Sprint(i)); err != nil || !r.Confirmed {
						t.Fatalf("payment %d ends as %+v, %v; want it confirmed", i, r, err)
					}
				}
				named := false
				for _, o := range good {
					s, err := o.node.Status(ctx, "k")
					if err != nil {
						t.Fatal(err)
					}
					for _, m := range s.Members {
						named = named || m.Forges && m.Account == account(bad.name)
						if m.Forges && m.Account != account(bad.name) {
							t.Errorf("%s blames %v", o.name, m.Account)
						}
					}
				}
				s, err := bad.node.Status(ctx, "k")
				if err != nil {
					t.Fatal(err)
				}
				if skipped := g.chain.Skipped() > 0; named != c.named || skipped != c.skips || s.Skipped["not_endorsed"] > 0 != c.skips {
					t.Errorf("it is named: %v, want %v; skipped: %d; it counts %v", named, c.named, g.chain.Skipped(), s.Skipped)
				}
				if !strings.Contains(s.Unsigned, c.own) || c.own == "" && s.Unsigned != "" {
					t.Errorf("it says of its key %q, want %q", s.Unsigned, c.own)
				}
				for _, o := range g.members {
					o.halt()
				}
				if text := log.String(); !strings.Contains(text, c.log) || c.named && !strings.Contains(text, account(bad.name).String()) {
					t.Errorf("the log lacks %q:\n%s", c.log, text)
				}
			})
		})
	}
}
