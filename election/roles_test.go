package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

var errBoom = errors.New("boom")

// F6: a role that reports no progress loses the leadership to another.
func TestStallStepsDown(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		stalls := func(ctx context.Context, l election.Leadership) error {
			for range 30 { // progress for three seconds
				l.Progress()
				pass(100 * time.Millisecond)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), election.ErrStalled) {
				t.Errorf("the context's cause is %v, want ErrStalled", context.Cause(ctx))
			}
			return nil
		}
		a, stopA := b.run("a", election.Role{Lead: stalls, StallAfter: time.Second})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{Lead: untilTold})
		pass(3500 * time.Millisecond)
		if !a.Gate("s").IsOpen(fence.Act) {
			t.Error("the scope was given up before the role stalled for a second")
		}
		if token, took := b.leads(other, 2*time.Second); token.Epoch != 2 || took > time.Second {
			t.Errorf("b got %s after %s, want epoch 2 within 1s", token, took)
		}
		b.ends(stopA)
		b.ends(stopB)
	})
}

// F6: a role that returns gives the scope up, with or without an error.
func TestReturningResigns(t *testing.T) {
	for _, result := range []error{nil, errBoom} {
		bubble(t, func(t *testing.T, b *bench) {
			a, stopA := b.run("a", election.Role{Lead: func(context.Context, election.Leadership) error {
				pass(time.Second)
				return result
			}})
			b.leads(a, time.Second)
			other, stopB := b.run("b", election.Role{Lead: untilTold})
			if token, took := b.leads(other, 2*time.Second); token.Epoch != 2 || took > 1100*time.Millisecond {
				t.Errorf("b got %s after %s, want epoch 2 within 1.1s", token, took)
			}
			f, _ := b.told("a", election.Draining)
			if !errors.Is(f.Err, election.ErrResigned) || result != nil && !errors.Is(f.Err, result) {
				t.Errorf("a gave the scope up with %v, want ErrResigned and the role's error", f.Err)
			}
			pass(20 * time.Second)
			if a.Gate("s").IsOpen(fence.Fenced) {
				t.Error("a leads again, though b has not stopped")
			}
			b.ends(stopA)
			b.ends(stopB)
		})
	}
}

// F6: a role that does not end in time keeps only its own process from campaigning.
func TestStubbornRole(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		end := make(chan struct{})
		var runs atomic.Int32
		stubborn := func(ctx context.Context, l election.Leadership) error {
			if runs.Add(1) == 1 {
				<-end
				return nil
			}
			return untilTold(ctx, l)
		}
		a, stopA := b.run("a", election.Role{Lead: stubborn}, func(c *election.Config) { c.DrainTimeout = 2 * time.Second })
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{Lead: untilTold})
		before := time.Now()
		if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrDrainTimeout) {
			t.Errorf("Drain returned %v, want ErrDrainTimeout", err)
		}
		if took := time.Since(before); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("Drain returned after %s, want 2s", took)
		}
		// Acts may still run, so the successor waits as after a crash.
		if token, took := b.leads(other, 5*time.Second); token.Epoch != 2 || took < 3*time.Second {
			t.Errorf("b got %s after %s, want epoch 2 after 3s", token, took)
		}
		b.ends(stopB)
		pass(20 * time.Second)
		if f := a.Snapshot()[0]; f.Leading || runs.Load() != 1 {
			t.Errorf("while the role runs a has %+v and started it %d times, want once", f, runs.Load())
		}
		close(end)
		token, _ := b.leads(a, 5*time.Second)
		if token.Epoch != 3 || runs.Load() != 2 {
			t.Errorf("a got %s and started the role %d times, want epoch 3 and twice", token, runs.Load())
		}
		if err := stopA(); err != nil {
			t.Errorf("Run returned %v, want nil: the drain timed out earlier", err)
		}
	})
}

func TestRunSaysThatARoleStillRuns(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		end := make(chan struct{})
		a, stop := b.run("a", election.Role{Lead: func(context.Context, election.Leadership) error { <-end; return nil }})
		b.leads(a, time.Second)
		before := time.Now()
		if err := stop(); !errors.Is(err, election.ErrDrainTimeout) {
			t.Errorf("Run returned %v, want ErrDrainTimeout", err)
		}
		if took := time.Since(before); took != 10*time.Second {
			t.Errorf("Run waited %s for the role, want the default of 10s", took)
		}
		if a.Gate("s").IsOpen(fence.Act) {
			t.Error("the gate is open after Run")
		}
		close(end)
	})
}

// F6: a drain waits for the act under way.
func TestDrainWaitsForActs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		a, stopA := b.run("a", election.Role{})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{})
		ended := make(chan time.Time, 1)
		go func() {
			_ = a.Gate("s").Do(t.Context(), fence.Act, time.Second, func(ctx context.Context, _ fence.Token) error {
				<-ctx.Done()      // the drain ends the context
				pass(time.Second) // longer than the answers to outside callers are valid
				ended <- time.Now()
				return nil
			})
		}()
		synctest.Wait()
		if err := a.Drain(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		drained := time.Now()
		at := <-ended
		if after := drained.Sub(at); after < 0 || after > 10*time.Millisecond {
			t.Errorf("Drain returned %s after the end of the act, want 0 to 10ms", after)
		}
		if _, took := b.leads(other, time.Second); took > 20*time.Millisecond {
			t.Errorf("the successor waited %s after a clean drain, want at most 20ms", took)
		}
		b.ends(stopA)
		b.ends(stopB)
	})
}

// F6: an elector that drains lets others go first, however late its own farewell wakes it.
func TestDrainedLetsOthersFirst(t *testing.T) {
	for n := range 40 {
		bubble(t, func(t *testing.T, b *bench) {
			b.mint.Fault = func(call string) (f electiontest.Fault) {
				if call == "try" { // a slow candidate must not lose to the elector that drained
					f.Before = time.Duration(n) * 250 * time.Microsecond
				}
				return f
			}
			a, stopA := b.run("a", election.Role{})
			b.leads(a, time.Second)
			_, stopB := b.run("b", election.Role{})
			pass(time.Second)
			if err := a.Drain(t.Context(), "s"); err != nil {
				t.Error(err)
			}
			pass(100 * time.Millisecond)
			if s := b.mint.Token("s"); s.Holder != "b" || s.Epoch != 2 {
				t.Errorf("after a's drain the leader is %s, want b with epoch 2", s)
			}
			b.ends(stopA)
			b.ends(stopB)
		})
	}
}

func TestDrainAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		a, stopA := b.run("a", election.Role{Lead: untilTold})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{})
		if err := other.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
			t.Errorf("Drain of a follower returned %v, want ErrNotLeading", err)
		}
		if err := a.Drain(t.Context(), "unknown"); !errors.Is(err, election.ErrUnknownScope) {
			t.Errorf("Drain of a scope without a role returned %v, want ErrUnknownScope", err)
		}
		if err := a.Transfer(t.Context(), "s", "a:b"); err == nil {
			t.Error("Transfer to an invalid id succeeded, want an error")
		}
		if err := a.StepDown(t.Context(), election.StepDown{Scope: "s", Epoch: 2}); !errors.Is(err, election.ErrNotLeading) {
			t.Errorf("StepDown of another epoch returned %v, want ErrNotLeading", err)
		}
		if err := a.StepDown(t.Context(), election.StepDown{Scope: "s", Epoch: 1}); err != nil {
			t.Errorf("StepDown of the epoch returned %v, want nil", err)
		}
		if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
			t.Errorf("a second Drain returned %v, want ErrNotLeading", err)
		}
		b.leads(other, time.Second)
		b.ends(stopA)
		b.ends(stopB)
		for range 20 {
			if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
				t.Errorf("Drain after Run has ended returned %v, want ErrNotLeading", err)
			}
		}
		if err := a.Run(t.Context()); err == nil {
			t.Error("a second Run succeeded, want an error")
		}
	})
}

// F6: if the session is lost during a drain and the elector ends before it has another, the caller
// gets ErrUntold.
func TestDrainUntold(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var down atomic.Bool
		b.mint.Fault = func(call string) electiontest.Fault { return electiontest.Fault{Cut: call == "open" && down.Load()} }
		end := make(chan struct{})
		a, stop := b.run("a", election.Role{Lead: func(context.Context, election.Leadership) error { <-end; return nil }})
		b.leads(a, time.Second)
		answer := make(chan error, 1)
		go func() { answer <- a.Drain(t.Context(), "s") }()
		synctest.Wait()
		down.Store(true)
		b.mint.With(func(_ time.Duration, s *store.Store) { s.Restart() })
		pass(time.Second)
		close(end)
		pass(time.Second)
		select {
		case err := <-answer:
			t.Fatalf("Drain returned %v while the mint could still be told", err)
		default:
		}
		b.ends(stop)
		if err := <-answer; !errors.Is(err, election.ErrUntold) {
			t.Errorf("Drain returned %v after Run has ended, want ErrUntold", err)
		}
	})
}

// F6: the addressee of a transfer leads next, though another candidate would be quicker.
func TestTransferPrefersItsAddressee(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		prefer := []string{"a", "b"}
		a, stopA := b.run("a", election.Role{Lead: untilTold, Preferred: prefer})
		b.leads(a, time.Second)
		_, stopB := b.run("b", election.Role{Preferred: prefer})
		c, stopC := b.run("c", election.Role{Preferred: prefer})
		pass(time.Second)
		if err := a.Transfer(t.Context(), "s", "c"); err != nil {
			t.Error(err)
		}
		if token, took := b.leads(c, time.Second); token.Epoch != 2 || took > 50*time.Millisecond {
			t.Errorf("c got %s after %s, want epoch 2 within 50ms", token, took)
		}
		// The addressee does not exist: another candidate leads after a while.
		if err := c.Transfer(t.Context(), "s", "nobody"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if s := b.mint.Token("s"); s.Epoch != 2 {
			t.Errorf("a second after the transfer the scope has %s, want epoch 2: others wait for the addressee", s)
		}
		pass(4 * time.Second)
		if s := b.mint.Token("s"); s.Epoch != 3 {
			t.Errorf("5s after the transfer the scope has %s, want epoch 3", s)
		}
		b.ends(stopA)
		b.ends(stopB)
		b.ends(stopC)
	})
}

// F1: a candidate under Never does not lead, even if it is alone.
func TestNever(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		role := election.Role{Never: []string{"b", "c"}}
		a, stopA := b.run("a", role)
		b.leads(a, time.Second)
		other, stopB := b.run("b", role)
		pass(5 * time.Second)
		b.ends(stopA)
		pass(time.Minute)
		if other.Gate("s").IsOpen(fence.Fenced) || b.mint.Token("s").Epoch != 1 {
			t.Error("b has led, though it is under Never")
		}
		b.ends(stopB)
	})
}

// The first candidate of Preferred that runs takes over.
func TestPreferredGoesFirst(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		role := election.Role{Preferred: []string{"a", "c"}}
		a, stopA := b.run("a", role)
		b.leads(a, time.Second)
		_, stopB := b.run("b", role)
		c, stopC := b.run("c", role)
		pass(2 * time.Second)
		b.ends(stopA)
		if token, took := b.leads(c, time.Second); token.Epoch != 2 || took > 50*time.Millisecond {
			t.Errorf("c got %s after %s, want epoch 2 within 50ms", token, took)
		}
		b.ends(stopB)
		b.ends(stopC)
	})
}

// Fenced starts with the mint, Lead with the act door.
func TestTwoDoorsTwoRoles(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.mint.With(func(now time.Duration, s *store.Store) {
			dead := s.Open(now, mint.Candidate{ID: "x", Lease: time.Second, Takeover: mint.Strict}, store.SessionLocks)
			if _, err := s.Try(now, dead, []mint.Bid{{Scope: "s", Lease: 5 * time.Second}}); err != nil {
				t.Error(err)
			}
			s.End(dead)
		})
		began := time.Now()
		var fenced, acts time.Duration
		_, stop := b.run("a", election.Role{
			Fenced: func(ctx context.Context, l election.Leadership) error {
				fenced = time.Since(began)
				if !l.Gate.IsOpen(fence.Fenced) || l.Gate.IsOpen(fence.Act) || l.Token.Epoch != 2 {
					t.Errorf("Fenced got %+v, want epoch 2 with only the fenced door open", l)
				}
				return untilTold(ctx, l)
			},
			Lead: func(ctx context.Context, l election.Leadership) error {
				acts = time.Since(began)
				if !l.Gate.IsOpen(fence.Act) {
					t.Error("Lead began with the act door shut")
				}
				return untilTold(ctx, l)
			},
		})
		pass(6 * time.Second)
		b.ends(stop)
		if fenced > 10*time.Millisecond || acts < 5*time.Second || acts > 5010*time.Millisecond {
			t.Errorf("Fenced began after %s and Lead after %s, want 0 and the hold of 5s", fenced, acts)
		}
	})
}
