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
	"github.com/conchhq/conch/fence"
)

var errBoom = errors.New("boom")

// F6: a role that reports no progress loses the leadership to another.
func TestStallStepsDown(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		stalls := func(ctx context.Context, l election.Leadership) error {
			for range 30 { // for three seconds all is well
				l.Progress()
				pass(100 * time.Millisecond)
			}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), election.ErrStalled) {
				t.Errorf("cause: %v", context.Cause(ctx))
			}
			return nil
		}
		a, stopA := b.run("a", election.Role{Lead: stalls, StallAfter: time.Second})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{Lead: untilTold})
		pass(3500 * time.Millisecond)
		if !a.Gate("s").IsOpen(fence.Act) {
			t.Error("stepped down before the role had stalled for long enough")
		}
		if token, took := b.leads(other, 2*time.Second); token.Epoch != 2 || took > time.Second {
			t.Errorf("%s after %s", token, took)
		}
		b.ends(stopA)
		b.ends(stopB)
	})
}

// F6: a role that returns gives the leadership up, whatever it returns.
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
				t.Errorf("%s after %s", token, took)
			}
			f, _ := b.told("a", election.Draining)
			if !errors.Is(f.Err, election.ErrResigned) || result != nil && !errors.Is(f.Err, result) {
				t.Errorf("a stepped down with: %v", f.Err)
			}
			pass(20 * time.Second)
			if a.Gate("s").IsOpen(fence.Fenced) {
				t.Error("a leads again although b never stopped")
			}
			b.ends(stopA)
			b.ends(stopB)
		})
	}
}

// F6: a role that does not end in time keeps this process from campaigning, not
// the others, and says so when asked to stop.
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
			t.Errorf("drain: %v", err)
		}
		if took := time.Since(before); took < 2*time.Second || took > 2100*time.Millisecond {
			t.Errorf("the drain gave up after %s", took)
		}
		// The acts may still run: the successor waits as after a crash.
		if token, took := b.leads(other, 5*time.Second); token.Epoch != 2 || took < 3*time.Second {
			t.Errorf("%s after %s", token, took)
		}
		b.ends(stopB)
		pass(20 * time.Second)
		if f := a.Snapshot()[0]; f.Leading || runs.Load() != 1 {
			t.Errorf("campaigned for the scope while its role runs: %+v, %d runs", f, runs.Load())
		}
		close(end)
		token, _ := b.leads(a, 5*time.Second)
		if token.Epoch != 3 || runs.Load() != 2 {
			t.Errorf("%s, %d runs", token, runs.Load())
		}
		if err := stopA(); err != nil {
			t.Errorf("run: %v", err) // a drain that timed out long ago is history
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
			t.Errorf("run: %v", err)
		}
		if took := time.Since(before); took != 10*time.Second {
			t.Errorf("run waited %s for it, the default is 10s", took)
		}
		if a.Gate("s").IsOpen(fence.Act) {
			t.Error("the gate is open after Run")
		}
		close(end)
	})
}

// F6: an act under way is waited for, and none begins meanwhile.
func TestDrainWaitsForActs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		a, stopA := b.run("a", election.Role{})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{})
		ended := make(chan time.Time, 1)
		go func() {
			_ = a.Gate("s").Do(t.Context(), fence.Act, time.Second, func(ctx context.Context, _ fence.Token) error {
				<-ctx.Done()      // told to end by the drain,
				pass(time.Second) // and takes its time, longer than what this test was answered from outside
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
			t.Errorf("drained %s after the act had ended", after)
		}
		if _, took := b.leads(other, time.Second); took > 20*time.Millisecond {
			t.Errorf("the successor waited %s after a clean drain", took)
		}
		b.ends(stopA)
		b.ends(stopB)
	})
}

// F6: the one who drains lets others go first, however late the news of its own
// farewell comes back to it.
func TestDrainedLetsOthersFirst(t *testing.T) {
	for n := range 40 {
		bubble(t, func(t *testing.T, b *bench) {
			b.mint.Fault = func(call string) (f electiontest.Fault) {
				if call == "try" { // whoever is slower to bid must not lose to the one who left
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
				t.Errorf("after a's drain leads %s", s)
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
			t.Errorf("drain of a follower: %v", err)
		}
		if err := a.Drain(t.Context(), "unknown"); !errors.Is(err, election.ErrUnknownScope) {
			t.Errorf("drain of a scope without a role: %v", err)
		}
		if err := a.Transfer(t.Context(), "s", "a:b"); err == nil {
			t.Error("transferred to what cannot be an id")
		}
		if err := a.StepDown(t.Context(), election.StepDown{Scope: "s", Epoch: 2}); !errors.Is(err, election.ErrNotLeading) {
			t.Errorf("drain of another epoch: %v", err)
		}
		if err := a.StepDown(t.Context(), election.StepDown{Scope: "s", Epoch: 1}); err != nil {
			t.Errorf("drain: %v", err)
		}
		if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
			t.Errorf("drain of what was drained: %v", err)
		}
		b.leads(other, time.Second)
		b.ends(stopA)
		b.ends(stopB)
		for range 20 {
			if err := a.Drain(t.Context(), "s"); !errors.Is(err, election.ErrNotLeading) {
				t.Errorf("drain after Run has ended: %v", err)
			}
		}
		if err := a.Run(t.Context()); err == nil {
			t.Error("Run ran twice")
		}
	})
}

// F6: the session is lost during a drain and the elector ends before there is another:
// nobody was told, so nothing is promised to whoever asked.
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
		b.mint.With(func(_ time.Duration, s *electiontest.Store) { s.Restart() })
		pass(time.Second)
		close(end)
		pass(time.Second)
		select {
		case err := <-answer:
			t.Fatalf("the drain was answered while it could still be said: %v", err)
		default:
		}
		b.ends(stop)
		if err := <-answer; !errors.Is(err, election.ErrUntold) {
			t.Errorf("the drain of an elector that has ended: %v", err)
		}
	})
}

// F6: the addressee of a transfer leads next, though another would be quicker.
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
			t.Errorf("%s after %s", token, took)
		}
		// To nobody: somebody else leads after a while.
		if err := c.Transfer(t.Context(), "s", "nobody"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		if s := b.mint.Token("s"); s.Epoch != 2 {
			t.Errorf("nobody waited for the addressee: %s", s)
		}
		pass(4 * time.Second)
		if s := b.mint.Token("s"); s.Epoch != 3 {
			t.Errorf("still waiting for an addressee that does not exist: %s", s)
		}
		b.ends(stopA)
		b.ends(stopB)
		b.ends(stopC)
	})
}

// F1: who is never to lead does not, even if nobody else is there.
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
			t.Error("b led")
		}
		b.ends(stopB)
	})
}

// The preferred one takes over, if it is there.
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
			t.Errorf("%s after %s", token, took)
		}
		b.ends(stopB)
		b.ends(stopC)
	})
}

// The fenced role starts with the mint, the other one with the act door.
func TestTwoDoorsTwoRoles(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		b.mint.With(func(now time.Duration, s *electiontest.Store) {
			dead := s.Open(now, election.Candidate{ID: "x", Lease: time.Second, Takeover: election.Strict}, electiontest.SessionLocks)
			if _, err := s.Try(now, dead, []election.Bid{{Scope: "s", Lease: 5 * time.Second}}); err != nil {
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
					t.Errorf("at the mint: %+v", l)
				}
				return untilTold(ctx, l)
			},
			Lead: func(ctx context.Context, l election.Leadership) error {
				acts = time.Since(began)
				if !l.Gate.IsOpen(fence.Act) {
					t.Error("the role began with its door shut")
				}
				return untilTold(ctx, l)
			},
		})
		pass(6 * time.Second)
		b.ends(stop)
		if fenced > 10*time.Millisecond || acts < 5*time.Second || acts > 5010*time.Millisecond {
			t.Errorf("the fenced role began after %s, the other after %s; the hold is 5s", fenced, acts)
		}
	})
}
