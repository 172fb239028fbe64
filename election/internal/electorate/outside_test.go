package electorate

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// A caller may act until its answer expires, and no longer, even if the process that gave it is
// killed.
func TestAnAnswerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 1, Scopes: 1})
	r.net.Calm(nil)
	h, term, sent := r.doors[c.scope], c.term, r.w.Now()
	c.asked(r.callers[c.scope], sent, fence.AnswerLife)
	for term.heardUntil == 0 && r.w.Now() < sent+time.Second {
		r.step()
	}
	told := term.heardUntil
	if life := told - sent; life < fence.AnswerLife*9/10 || life > fence.AnswerLife*11/10 {
		t.Errorf("an answer for %s is valid for %s", fence.AnswerLife, life)
	}
	c.p.kill()
	term.ending = false // no command outlives it here
	if a, b := term.span(r.w.Now(), r.w.Now()+time.Hour); a != r.w.Now() || b != told {
		t.Errorf("the caller may act from %s to %s, want from now to %s", a, b, told)
	}
	if term.past() {
		t.Error("the term is past before its answer has expired")
	}
	h.released(term.token)
	if !broken(r, ReleasedHonest) {
		t.Error("a release before the answer has expired was not seen")
	}
	r.w.After(told-r.w.Now(), func() {})
	for r.w.Now() < told {
		r.step()
	}
	if a, b := term.span(r.w.Now(), r.w.Now()+time.Hour); a < b || !term.past() {
		t.Error("the term is not past after its answer has expired")
	}
}

// The end of a term waits for answers to expire, even if the drain has timed out.
func TestTheRunnerWaitsForAnswers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		r, c := leading(t, Config{Nodes: 1, Seed: seed})
		term := c.term
		c.asked(r.callers[c.scope], r.w.Now(), 400*time.Millisecond)
		c.p.post(core.StepDown{Scope: c.scope, Why: core.ErrStepDown, Timeout: time.Millisecond})
		for until := r.w.Now() + time.Minute; term.endedAt == 0 && r.w.Now() < until; {
			r.step()
		}
		if term.endedAt < term.answeredUntil || term.answeredUntil == 0 {
			t.Errorf("seed %d: the term ended at %s, want after the last answer at %s", seed, term.endedAt, term.answeredUntil)
		}
		if r.Stats["abandoned_answers"] == 0 {
			t.Errorf("seed %d: no drain timed out before its answers expired", seed)
		}
	}
}

// The machine's actions are checked against what it was told.
func TestConductIsJudged(t *testing.T) {
	t.Parallel()
	for what, doctor := range map[string]func(*runner) core.Action{
		"a heartbeat for a term of a lost session": func(c *runner) core.Action {
			c.p.learn(lost())
			return core.Beat{Pulses: []mint.Pulse{{Token: c.term.token}}}
		},
		"more time for a term that was given up": func(c *runner) core.Action {
			c.p.judge([]core.Action{core.Report{Fact: core.Fact{Kind: core.Abandoned, Scope: c.scope, Token: c.term.token}}})
			return core.Prolong{Scope: c.scope}
		},
		"a release of a term that was deposed": func(c *runner) core.Action {
			c.p.pulses = []mint.Pulse{{Token: c.term.token}}
			c.p.learn(core.Beaten{Answers: []mint.Outcome{mint.Over}})
			return core.Release{Farewells: []mint.Farewell{{Token: c.term.token, Released: true}}}
		},
		"a farewell to a term before the present one": func(c *runner) core.Action {
			old := c.term.token
			old.Epoch--
			return core.Release{Farewells: []mint.Farewell{{Token: old}}}
		},
		"a bid with a lease that is not registered": func(c *runner) core.Action {
			return core.Try{Bids: []mint.Bid{{Scope: c.scope, Lease: time.Hour}}}
		},
	} {
		r, c := leading(t, Config{Nodes: 1})
		r.Found = nil
		a := doctor(c)
		if broken(r, Conduct) {
			t.Errorf("%s: seen before the action", what)
		}
		if c.p.judge([]core.Action{a}); !broken(r, Conduct) {
			t.Errorf("%s was not seen", what)
		}
	}
}

// A failover may forget what a session had registered. It ends the session too, so that a bid over it wins nothing.
func TestABidOverADeadSession(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 1})
	r.db.end(c.p.conn.key)
	c.p.judge([]core.Action{core.Try{Bids: []mint.Bid{{Scope: c.scope, Lease: time.Hour}}}})
	if broken(r, Conduct) {
		t.Errorf("found %v, want nothing", r.Found)
	}
}

// What a process's own code asks for is done in its order, even if the process stands still meanwhile.
func TestOrdersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		r, c := leading(t, Config{Nodes: 1, Seed: seed})
		c.p.stop(time.Second)
		c.p.post(core.Retire{Scope: c.scope})
		c.p.post(core.Add{Seat: c.p.node.seats[0]})
		c.p.post(core.StepDown{Scope: c.scope, Why: core.ErrStepDown, Timeout: time.Minute})
		r.awaitLeaders()
		if len(r.Found) > 0 {
			t.Errorf("seed %d: found %v, want the scope led again", seed, r.Found)
		}
	}
}

// If Do looked at its clock before it counts its act, a shut in between would miss the act.
func TestAnActIsCountedBeforeTheLook(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 1})
	c.doing = true
	if c.gate.IsOpen(fence.Act); !broken(r, GateRule) {
		t.Error("a look before the count was not seen")
	}
}

// An overlap is excused only after a failover that lost a candidate with its lease.
func TestWhatAFailoverForgot(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 2})
	older, newer := *c.term, *c.term
	newer.token.Timeline++
	newer.token.Term[0]++
	r.db.holds[newer.token.Term] = c.lease / 2
	if r.forgotten(&older, &newer) {
		t.Error("an overlap with a registered candidate was excused")
	}
	older.key = 1 << 40
	if !r.forgotten(&older, &newer) || r.forgotten(&newer, &older) {
		t.Error("want an overlap excused if the older term was lost, and not if the newer was")
	}
	if r.db.holds[newer.token.Term] = c.lease; r.forgotten(&older, &newer) {
		t.Error("an overlap was excused although the hold covers the lease")
	}
	if newer.token.Timeline--; r.forgotten(&older, &newer) {
		t.Error("an overlap was excused without a failover")
	}
}

// A bid that waits for a fence keeps its place for as long as it may block. A later transaction
// waits behind it, and passes once the bid has won or given up.
func TestAPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 1})
	db, token := r.db, c.term.token
	id, err := db.store.Fence(db.wall(), token)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	bid := mint.Bid{Scope: c.scope, Lease: c.lease, Block: 100 * time.Millisecond}
	busy := core.Tried{Results: []mint.Result{{Scope: c.scope, Outcome: mint.Busy}}}
	for range 2 {
		db.wait(c.p.conn, bid, busy, func(in core.Input) {
			tried, ok := in.(core.Tried)
			if !ok {
				t.Errorf("the bid was answered with %+v", in)
				return
			}
			order = append(order, map[mint.Outcome]string{mint.Busy: "busy", mint.Won: "won"}[tried.Results[0].Outcome])
		})
		db.queue(c.scope, func() { order = append(order, "later") })
		if len(order) > 0 {
			t.Fatalf("%v passed the waiting bid", order)
		}
		for until := r.w.Now() + 150*time.Millisecond; len(order) < 2 && r.w.Now() < until; {
			r.step()
		}
		want := "busy"
		if id == 0 {
			want = "won"
		}
		if len(order) != 2 || order[0] != want || order[1] != "later" {
			t.Fatalf("order %v, want %s and then later", order, want)
		}
		order = nil
		db.store.CommitFenced(id)
		id = 0
		r.w.After(time.Millisecond, func() { db.freed(c.scope) })
	}
}

// Fences above READ COMMITTED share their row only for an instant.
func TestARowIsSharedForAnInstant(t *testing.T) {
	t.Parallel()
	r, c := leading(t, Config{Nodes: 1})
	db, token := r.db, c.term.token
	db.passFence(token, true, db.store.See(c.scope), time.Second, func() bool { return false })
	farewell := []mint.Farewell{{Token: token, Reason: "over"}}
	if got, err := db.release(c.p.conn, farewell); err != nil || got[0].Outcome != mint.Locked {
		t.Errorf("a farewell while the row is shared: %+v, %v; want Locked", got, err)
	}
	for until := r.w.Now() + time.Millisecond; r.w.Now() < until; {
		r.step()
	}
	if !db.store.Fenced(c.scope) {
		t.Error("the fence ended when the row was no longer shared")
	}
	if got, err := db.release(c.p.conn, farewell); err != nil || got[0].Outcome != mint.Said {
		t.Errorf("a farewell while only the fence is held: %+v, %v; want Said", got, err)
	}
	if _, err := db.release(c.p.conn, []mint.Farewell{{Token: token, Reason: store.Poison}}); err == nil {
		t.Error("a farewell succeeded whose text cannot be stored")
	}
}
