package election_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// An elector that begins with no role leads what it is told to, and gives it back.
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
			b.Error("the term of a scope that was retired ended by itself")
		}
		if err := one.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		b.leads(two, 10*time.Second)
		pass(time.Minute)
		if _, known := one.Status("s"); known || one.Gate("s") != nil {
			b.Error("a scope that was retired is still known")
		}
		if _, err := one.Retire("s"); !errors.Is(err, election.ErrUnknownScope) {
			b.Errorf("retired twice: %v", err)
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

// What waits for the mint to know of a retirement is told so when the elector ends.
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
			b.Error("told, and the mint has never answered")
		default:
		}
		b.ends(stop)
		<-told
		if err := e.Add(election.Role{Scope: "s"}); err == nil {
			b.Error("an elector that has ended took a role")
		}
		if told, err = e.Retire("s"); err == nil {
			<-told
		}
	})
}

// A role that is added for a scope under way counts from the next term on.
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
			b.Errorf("ran %v in one term", ran)
		}
		if err := e.Drain(b.Context(), "s"); err != nil {
			b.Error(err)
		}
		b.leads(e, time.Minute)
		if len(ran) != 2 || ran[1] != "new" {
			b.Errorf("ran %v", ran)
		}
		err := e.Add(election.Role{Scope: "t", Lease: time.Second})
		if err == nil || !strings.Contains(err.Error(), "shorter than 5s") {
			b.Errorf("a lease shorter than the session's: %v", err)
		}
		if err := e.Add(election.Role{Scope: "t", Lease: time.Hour}); err == nil {
			b.Error("a lease of an hour was taken")
		}
		b.ends(stop)
	})
}

// While a scope rests others lead it, and it campaigns again after.
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
			b.Error("it leads while it rests")
		}
		pass(10 * time.Second)
		synctest.Wait()
		if !e.Gate("s").IsOpen(fence.Act) {
			b.Error("it does not lead after its rest")
		}
		b.ends(stop)
	})
}
