package election_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// An elector without roles leads a scope that is added, and gives it up when it is retired.
func TestRolesComeAndGo(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		none := func(c *election.Config) { c.Roles = nil }
		one, stopOne := b.run("one", election.Role{}, none)
		two, stopTwo := b.run("two", election.Role{}, none)
		if err := one.Add(election.Role{Scope: "s", Lead: untilTold}); err != nil {
			b.Fatal(err)
		}
		b.leads(one, 10*time.Second)
		if err := two.Add(election.Role{Scope: "s", Lead: untilTold}); err != nil {
			b.Fatal(err)
		}
		told, err := one.Retire("s")
		if err != nil {
			b.Fatal(err)
		}
		<-told
		pass(10 * time.Second)
		if !one.Gate("s").IsOpen(fence.Act) {
			b.Error("the running term of a retired scope has ended by itself")
		}
		if err := one.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		b.leads(two, 10*time.Second)
		pass(time.Minute)
		if _, known := one.Status("s"); known || one.Gate("s") != nil {
			b.Error("the elector still knows a retired scope")
		}
		if _, err := one.Retire("s"); !errors.Is(err, election.ErrUnknownScope) {
			b.Errorf("the second Retire returned %v, want ErrUnknownScope", err)
		}
		if err := one.Add(election.Role{Scope: "s", Lead: untilTold}); err != nil {
			b.Fatal(err)
		}
		if err := two.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		b.leads(one, 10*time.Second)
		b.ends(stopOne)
		b.ends(stopTwo)
	})
}

// The channel of Retire is closed when the elector ends, even if the mint was never told.
func TestRetiredAtTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		b.mint.Fault = func(call string) (f electiontest.Fault) {
			if call == "enlist" {
				f.Err = electiontest.ErrInjected
			}
			return f
		}
		e, stop := b.run("one", election.Role{Lead: untilTold})
		b.leads(e, 10*time.Second)
		told, err := e.Retire("s")
		if err != nil {
			b.Fatal(err)
		}
		pass(time.Minute)
		select {
		case <-told:
			b.Error("the channel of Retire is closed, though the mint was never told")
		default:
		}
		b.ends(stop)
		<-told
		if err := e.Add(election.Role{Scope: "s"}); err == nil {
			b.Error("Add succeeded after the elector has ended, want an error")
		}
		if told, err = e.Retire("s"); err == nil {
			<-told
		}
	})
}

// Callers that ask while the elector ends are all answered: a bubble in which one waits for ever fails.
func TestCallersAreAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		e, stop := b.run("one", election.Role{Lead: untilTold})
		b.leads(e, 10*time.Second)
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() { _ = e.Drain(context.Background(), "s") })
			asking.Go(func() {
				if told, err := e.Retire("s"); err == nil {
					<-told
				}
			})
		}
		b.ends(stop)
		asking.Wait()
	})
}

// A role that is added for a known scope takes effect in the next term.
func TestARoleChangesWithItsTerm(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		var ran []string
		role := func(name string) election.Role {
			return election.Role{Scope: "s", Lease: 5 * time.Second, Lead: func(ctx context.Context, l election.Leadership) error {
				ran = append(ran, name)
				<-ctx.Done()
				return nil
			}}
		}
		e, stop := b.run("one", role("old"))
		b.leads(e, 10*time.Second)
		if err := e.Add(role("new")); err != nil {
			b.Fatal(err)
		}
		pass(time.Minute)
		if len(ran) != 1 {
			b.Errorf("one term ran the roles %v, want the old one", ran)
		}
		if err := e.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		b.leads(e, time.Minute)
		if len(ran) != 2 || ran[1] != "new" {
			b.Errorf("two terms ran the roles %v, want old and new", ran)
		}
		err := e.Add(election.Role{Scope: "t", Lease: time.Second})
		if err == nil || !strings.Contains(err.Error(), "shorter than 5s") {
			b.Errorf("Add with a lease shorter than the session's returned %v", err)
		}
		if err := e.Add(election.Role{Scope: "t", Lease: time.Hour}); err == nil {
			b.Error("Add with a lease of an hour succeeded, want an error")
		}
		b.ends(stop)
	})
}

// Add takes every role that New takes, even one whose gate shuts at once if a heartbeat is late.
func TestAddTakesWhatNewTakes(t *testing.T) {
	t.Parallel()
	for _, spare := range []time.Duration{time.Microsecond, time.Millisecond, time.Second} {
		role := election.Role{Scope: "s", Lease: 3 * time.Second, LateThreshold: 1200*time.Millisecond + spare}
		e, err := election.New(election.Config{Mint: electiontest.NewMemory(), Heartbeat: time.Second, Roles: []election.Role{role}})
		if err == nil {
			err = e.Add(role)
		}
		if err != nil {
			t.Errorf("a heartbeat may be late by %s: got %v, want no error from New and Add", spare, err)
		}
	}
}

// A resting scope is not led; after the rest the elector campaigns again.
func TestRestLetsOthersGoFirst(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		e, stop := b.run("one", election.Role{Lead: untilTold})
		b.leads(e, 10*time.Second)
		e.Rest("s", 20*time.Second)
		if err := e.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		pass(15 * time.Second)
		if e.Gate("s").IsOpen(fence.Fenced) {
			b.Error("the elector leads a resting scope")
		}
		pass(10 * time.Second)
		synctest.Wait()
		if !e.Gate("s").IsOpen(fence.Act) {
			b.Error("the elector does not lead after the rest")
		}
		b.ends(stop)
	})
}

// A role that asks for a pause and fails rests for that long, and the fact says so.
func TestAFailureTellsOfTheRest(t *testing.T) {
	t.Parallel()
	bubble(t, func(_ *testing.T, b *bench) {
		elector := make(chan *election.Elector, 1)
		role := election.Role{Lead: func(context.Context, election.Leadership) error {
			e := <-elector
			elector <- e
			e.Rest("s", 20*time.Second)
			return errors.New("broken")
		}}
		e, stop := b.run("a", role, func(c *election.Config) {
			record := c.Events.Fact
			c.Events.Fact = func(f election.Fact) {
				record(f)
				if f.Kind == election.Entered {
					synctest.Wait() // the loop finds the pause and the failure at once
				}
			}
		})
		elector <- e
		pass(10 * time.Minute)
		b.ends(stop)
		failures := 0
		for _, f := range b.facts["a"] {
			if f.Kind == election.Failing {
				failures++
				if f.After != 20*time.Second {
					b.Errorf("failure %d says that the pause is %s, want the 20s that the role asked for", failures, f.After)
				}
			}
		}
		if failures < 10 {
			b.Errorf("the role failed %d times in ten minutes, want a pause of 20s after each", failures)
		}
	})
}
