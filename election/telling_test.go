package election_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// S16: facts and changes of state come in order and with their epochs.
func TestEventsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var changes []election.StateChanged
		var beats, attempts int
		var beat election.Heartbeat
		var bidding election.Bidding
		a, stopA := b.run("a", election.Role{Lead: untilTold}, func(c *election.Config) {
			c.Events.StateChanged = func(s election.StateChanged) { mu.Lock(); changes = append(changes, s); mu.Unlock() }
			c.Events.Beat = func(h election.Heartbeat) { mu.Lock(); beats++; beat = h; mu.Unlock() }
			c.Events.Attempt = func(b election.Bidding) { mu.Lock(); attempts += len(b.Scopes); bidding = b; mu.Unlock() }
		})
		b.leads(a, time.Second)
		pass(10 * time.Second)
		other, stopB := b.run("b", election.Role{})
		if err := a.Drain(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		b.leads(other, time.Second)
		pass(time.Second)
		b.ends(stopB)
		b.leads(a, 5*time.Second)
		b.mint.With(func(_ time.Duration, s *store.Store) { s.Restart() })
		pass(2 * time.Second)
		b.ends(stopA)

		want := []election.Kind{
			election.Acquired, election.Entered, election.Draining, election.Released,
			election.Acquired, election.Entered, election.Lost, election.Retrying,
			election.Acquired, election.Entered, election.Draining, election.Released,
		}
		if got := b.kinds("a"); !slices.Equal(got, want) {
			t.Errorf("facts: got %v\nwant %v", got, want)
		}
		mu.Lock()
		defer mu.Unlock()
		states := []election.StateChanged{
			{"s", true, 1}, {"s", false, 1}, {"s", true, 3}, {"s", false, 3}, {"s", true, 4}, {"s", false, 4},
		}
		if !slices.Equal(changes, states) {
			t.Errorf("changes of state: got %v, want %v", changes, states)
		}
		if beats < 15 || attempts < 3 {
			t.Errorf("%d heartbeats and %d bids were reported, want at least 15 and 3", beats, attempts)
		}
		if !slices.Equal(beat.Scopes, []string{"s"}) || !slices.Equal(beat.Renewed, []bool{true}) || beat.Sent == 0 || beat.Err != nil {
			t.Errorf("the last heartbeat was reported as %+v", beat)
		}
		if !slices.Equal(bidding.Scopes, []string{"s"}) || len(bidding.Results) != 1 || bidding.Results[0].Outcome != mint.Won || bidding.Sent == 0 {
			t.Errorf("the last bid was reported as %+v", bidding)
		}
	})
}

// F2: the snapshot shows the leader of each scope, whether it is this process or another.
func TestSnapshot(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		e, err := election.New(election.Config{Mint: b.mint, ID: "x", Roles: []election.Role{{Scope: "z"}, {Scope: "a"}}})
		if err != nil {
			t.Fatal(err)
		}
		if s := e.Snapshot(); len(s) != 2 || s[0].Scope != "a" || s[1].Scope != "z" || s[0].Leading || s[0].Holder != "" {
			t.Errorf("before Run the snapshot is %+v", s)
		}
		for _, want := range e.Snapshot() {
			if s, known := e.Status(want.Scope); !known || s != want {
				t.Errorf("Status returned %+v, %t, want %+v", s, known, want)
			}
		}
		if s, known := e.Status("q"); known {
			t.Errorf("Status of a scope that no role has returned %+v", s)
		}
		if e.Gate("q") != nil || e.Gate("a").Scope() != "a" {
			t.Error("Gate returned the gate of another scope")
		}
		a, stopA := b.run("a", election.Role{})
		b.leads(a, time.Second)
		other, stopB := b.run("b", election.Role{})
		pass(100 * time.Millisecond)
		if s := a.Snapshot()[0]; !s.Leading || !s.Entered || s.Token.Epoch != 1 || s.Holder != "a" {
			t.Errorf("the leader's snapshot is %+v", s)
		}
		if s, _ := a.Status("s"); s != a.Snapshot()[0] {
			t.Errorf("the leader's Status is %+v, want that of the snapshot", s)
		}
		if s := other.Snapshot()[0]; s.Leading || s.Holder != "a" || s.Token != (fence.Token{}) {
			t.Errorf("the follower's snapshot is %+v", s)
		}
		var shut *fence.ShutError
		if _, err := other.Gate("s").Require(fence.Act); !errors.As(err, &shut) || shut.Holder != "a" { // S17
			t.Errorf("the follower's gate returned %v, want a ShutError with the holder a", err)
		}
		b.ends(stopA)
		b.leads(other, time.Second)
		if s := a.Snapshot()[0]; s.Leading {
			t.Errorf("after Run the snapshot is %+v", s)
		}
		b.ends(stopB)
	})
}

// S32: transitions are logged with scope, holder, epoch and reason.
func TestLogs(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		a, stopA := b.run("a", election.Role{Lead: untilTold})
		b.leads(a, time.Second)
		_, stopB := b.run("b", election.Role{})
		pass(time.Second)
		if err := a.Drain(t.Context(), "s"); err != nil {
			t.Error(err)
		}
		pass(time.Second)
		b.ends(stopA)
		b.ends(stopB)
		for _, words := range [][]string{
			{"leadership acquired", "id=a", "scope=s", "epoch=1", "term=", "act_door_in="},
			{"leadership entered", "id=a", "scope=s", "epoch=1"},
			{"leadership following", "id=b", "scope=s", "holder=a"},
			{"leadership draining", "id=a", "scope=s", "epoch=1", `reason="stepping down"`},
			{"leadership released", "id=a", "scope=s", "epoch=1"},
			{"leadership acquired", "id=b", "scope=s", "epoch=2", "handoff=true"},
		} {
			if b.log.line(words...) == "" {
				t.Errorf("no line has %q in\n%s", words, b.log.String())
			}
		}
	})
}

// S32: the reason for which an elector is stopped is part of the cause that a role gets.
func TestStoppedForAReason(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"none":       {nil, "stepping down"},
		"one's own":  {errBoom, "stepping down: boom"},
		"cancelled":  {context.Canceled, "stepping down"},
		"a deadline": {context.DeadlineExceeded, "stepping down: context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, b *bench) {
				ctx, cancel := context.WithCancelCause(t.Context())
				told := make(chan error, 1)
				e, err := election.New(election.Config{Mint: b.mint, ID: "a", Clock: b.clock, Roles: []election.Role{{
					Scope: "s",
					Lead: func(ctx context.Context, _ election.Leadership) error {
						<-ctx.Done()
						told <- context.Cause(ctx)
						return nil
					},
				}}})
				if err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- e.Run(ctx) }()
				b.leads(e, time.Second)
				cancel(c.cause)
				var lost *election.LostError
				if why := <-told; !errors.As(why, &lost) || lost.Why.Error() != c.want || !errors.Is(why, election.ErrStepDown) {
					t.Errorf("the role got the cause %v, want %q", why, c.want)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// S5, S21, F5: without a mint no gate opens, the log is loud, and the pauses between tries grow to
// a cap. Once the mint is there, the elector leads.
func TestNoMintAtStart(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var asked []time.Time
		down := true
		b.mint.Fault = func(call string) electiontest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if call == "open" && down {
				asked = append(asked, time.Now())
				return electiontest.Fault{Cut: true}
			}
			return electiontest.Fault{}
		}
		a, stop := b.run("a", election.Role{Lead: untilTold})
		for range 600 {
			pass(100 * time.Millisecond)
			if a.Gate("s").IsOpen(fence.Fenced) || a.Gate("s").IsOpen(fence.Act) {
				t.Fatal("a door is open without a mint")
			}
		}
		mu.Lock()
		down = false
		for i := range len(asked) - 1 {
			gap := asked[i+1].Sub(asked[i])
			most := min(200*time.Millisecond<<i, 3*time.Second)
			if i > 8 {
				most = 3 * time.Second
			}
			if gap < most/2 || gap > most {
				t.Errorf("pause %d is %s, want %s to %s", i, gap, most/2, most)
			}
		}
		if n := len(asked); n < 60/3 {
			t.Errorf("tried %d times in a minute, want at least 20", n)
		}
		mu.Unlock()
		if b.log.line("level=ERROR", "DATABASE UNREACHABLE", "FOLLOWER", "STALE", "id=a", "reason=") == "" {
			t.Errorf("the log has no error about the database:\n%s", b.log.String())
		}
		b.leads(a, 4*time.Second)
		b.ends(stop)
	})
}

// silence is the error of a session that the mint ended because the process was silent.
type silence struct{ error }

func (silence) Silent() bool { return true }

// oneAnswer is a mint that answers every Open with err.
type oneAnswer struct {
	mint.Mint
	err error
}

func (m oneAnswer) Open(context.Context, mint.Candidate) (mint.Session, error) {
	return nil, m.err
}

// A process that was silent for too long logs that and no outage. An error takes one log line.
func TestSilenceIsNoOutage(t *testing.T) {
	for _, c := range []struct {
		err        error
		level, say string
		not        string
	}{
		{fmt.Errorf("keep the session: %w", silence{errors.New("gone")}), "level=WARN", "silent for longer than its lease", "DATABASE"},
		{errors.New("failed:\n\tone\n\ttwo"), "level=ERROR", `reason="failed: one two"`, "silent"},
	} {
		bubble(t, func(t *testing.T, b *bench) {
			_, stop := b.run("a", election.Role{Lead: untilTold}, func(cfg *election.Config) { cfg.Mint = oneAnswer{b.mint, c.err} })
			pass(time.Second)
			b.ends(stop)
			if b.log.line(c.level, c.say, "id=a") == "" || b.log.line(c.not) != "" {
				t.Errorf("the log of %v is %s", c.err, b.log.String())
			}
		})
	}
}

// S11: late heartbeats shut the gate, which opens again in the same term.
func TestLateAndResumed(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		var slow time.Duration
		b.mint.Fault = func(call string) electiontest.Fault {
			mu.Lock()
			defer mu.Unlock()
			if call == "beat" {
				return electiontest.Fault{After: slow}
			}
			return electiontest.Fault{}
		}
		a, stop := b.run("a", election.Role{Lead: untilTold}, func(c *election.Config) { c.LateThreshold = time.Second })
		token, _ := b.leads(a, time.Second)
		mu.Lock()
		slow = 1500 * time.Millisecond
		mu.Unlock()
		pass(1500 * time.Millisecond)
		_, err := a.Gate("s").Require(fence.Act)
		if !errors.Is(err, fence.ErrShut) || !errors.Is(err, fence.ErrLate) {
			t.Errorf("with late heartbeats the gate returned %v, want ErrShut and ErrLate", err)
		}
		mu.Lock()
		slow = 0
		mu.Unlock()
		if again, _ := b.leads(a, 2*time.Second); again != token {
			t.Errorf("the gate opened again with %s, want %s", again, token)
		}
		if got := b.kinds("a"); !slices.Contains(got, election.Late) || !slices.Contains(got, election.Resumed) || slices.Contains(got, election.Lost) {
			t.Errorf("facts: got %v, want Late and Resumed, and not Lost", got)
		}
		b.ends(stop)
	})
}

// A heartbeat without an answer for a lease ends the session. The elector leads again in the next.
func TestSilentMint(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		var mu sync.Mutex
		dead := false
		b.mint.Fault = func(call string) (f electiontest.Fault) {
			mu.Lock()
			defer mu.Unlock()
			if dead {
				f.Before = time.Hour
			}
			return f
		}
		a, stop := b.run("a", election.Role{Lead: untilTold})
		b.leads(a, time.Second)
		mu.Lock()
		dead = true
		mu.Unlock()
		pass(3 * time.Second)
		if a.Gate("s").IsOpen(fence.Fenced) {
			t.Error("a door is open a lease after the last heartbeat")
		}
		pass(3 * time.Second)
		mu.Lock()
		dead = false
		mu.Unlock()
		if token, _ := b.leads(a, 10*time.Second); token.Epoch != 2 {
			t.Errorf("the elector leads again with %s, want epoch 2", token)
		}
		if !slices.Contains(b.kinds("a"), election.Lost) {
			t.Errorf("facts: got %v, want Lost among them", b.kinds("a"))
		}
		b.ends(stop)
	})
}
