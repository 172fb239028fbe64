package node

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// stage is a bubble with a mint and sets of electors around it.
type stage struct {
	*testing.T
	mint  mint.Mint
	clock fence.Clock

	mu      sync.Mutex
	working map[string][]string // by scope: which candidates have a role at work
	groups  int
	worst   int      // maximum of roles at work in one scope at a time
	gone    []string // scopes that candidates withdrew from
	deaf    int      // how many further withdrawals fail
}

func bubble(t *testing.T, f func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		f(&stage{
			T: t, mint: electiontest.NewMemory(), working: map[string][]string{},
			clock: func() fence.Instant { return fence.Instant(time.Since(began)) + 1 },
		})
	})
}

func (s *stage) work(ctx context.Context, l election.Leadership) error {
	scope, who := l.Token.Scope, l.Token.Holder
	s.mu.Lock()
	s.working[scope] = append(s.working[scope], who)
	s.worst = max(s.worst, len(s.working[scope]))
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.working[scope] = slices.DeleteFunc(s.working[scope], func(w string) bool { return w == who })
	return nil
}

func (s *stage) electors(id string) *electorSet {
	lasting := context.WithoutCancel(s.Context())
	r := &electorSet{want: map[string]config.Role{}, over: lasting, electorsOver: lasting}
	r.work = func(config.Role, func(error)) (Work, func(context.Context)) { return s.work, nil }
	r.newElector = func(base config.Config, roles []config.Role) (elector, error) {
		cfg := base.Elector(roles...)
		cfg.ID, cfg.Mint, cfg.Clock, cfg.Logger = id, s.mint, s.clock, slog.New(slog.DiscardHandler)
		cfg.Events.Fact = func(f election.Fact) {
			if f.Kind == election.Acquired || f.Kind == election.Released || f.Kind == election.Lost || f.Kind == election.Abandoned {
				if r.queue() {
					go func() { _ = r.termsChanged() }()
				}
			}
		}
		s.mu.Lock()
		s.groups++
		s.mu.Unlock()
		return election.New(cfg)
	}
	return r
}

func (s *stage) assign(r *electorSet, roles ...config.Role) {
	s.Helper()
	if err := r.assign(config.Config{Sections: given(roles...)}); err != nil {
		s.Fatal(err)
	}
	pass(5 * time.Second)
}

func pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

func (s *stage) wants(scope string, who ...string) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.working[scope], who) {
		s.Errorf("candidates at work in %s: %v, want %v", scope, s.working[scope], who)
	}
}

func (s *stage) ends(r *electorSet) {
	s.Helper()
	if err := r.end(s.Context(), nil); err != nil {
		s.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.worst > 1 {
		s.Errorf("%d roles were at work in one scope at a time, want 1 at most", s.worst)
	}
}

func groupsOf(r *electorSet) []*roleGroup {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.groups)
}

func TestRolesShareAGroupByTheirSettings(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		r := s.electors("n1")
		s.assign(r, config.Role{Scope: "a"}, config.Role{Scope: "b", Lease: time.Second}, config.Role{Scope: "c", Takeover: mint.Keep})
		for _, scope := range []string{"a", "b", "c"} {
			s.wants(scope, "n1")
			if g := r.Gate(scope); g == nil || !g.IsOpen(fence.Act) {
				s.Errorf("the act door of %s is missing or shut, want it open", scope)
			}
		}
		if s.groups != 2 {
			s.Errorf("%d groups for two sets of settings, want 2", s.groups)
		}
		if r.Gate("x") != nil || !errors.Is(r.StepDown(s.Context(), election.StepDown{Scope: "x"}), election.ErrUnknownScope) {
			s.Error("an unknown scope: want no gate and ErrUnknownScope")
		}
		s.ends(r)
		s.wants("a")
	})
}

func TestAReloadAddsAndRemovesAndDisturbsNobody(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		r := s.electors("n1")
		s.assign(r, config.Role{Scope: "stays"}, config.Role{Scope: "goes"})
		before := r.Snapshot()
		s.assign(r, config.Role{Scope: "stays"}, config.Role{Scope: "comes"})
		s.wants("stays", "n1")
		s.wants("comes", "n1")
		s.wants("goes")
		after := r.Snapshot()
		if len(after) != 2 || !reflect.DeepEqual(after[1], before[1]) {
			s.Errorf("the scope that stays: before the reload %+v, after it %+v, want no change", before, after)
		}
		// Longer than a session may be silent before it counts as dead.
		pass(time.Minute)
		s.wants("goes")
		s.wants("stays", "n1")
		s.assign(r, config.Role{Scope: "goes"}) // comes back, and all others go
		s.wants("goes", "n1")
		s.wants("stays")
		s.wants("comes")
		if left := groupsOf(r); len(left) != 1 {
			s.Errorf("%d groups left for one role, want 1", len(left))
		}
		s.ends(r)
	})
}

func TestAChangeHoldsFromTheNextTermOn(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		one, two := s.electors("n1"), s.electors("n2")
		s.assign(one, config.Role{Scope: "a"})
		s.assign(two, config.Role{Scope: "a"})
		epoch := one.Snapshot()[0].Token.Epoch
		s.assign(one, config.Role{Scope: "a", Lease: time.Second, Never: []string{"n1"}})
		s.wants("a", "n1")
		if now := one.Snapshot()[0].Token.Epoch; now != epoch {
			s.Errorf("epoch %d after the change, want %d: the term goes on", now, epoch)
		}
		if err := one.StepDown(s.Context(), election.StepDown{Scope: "a"}); err != nil {
			s.Error(err)
		}
		pass(time.Minute)
		s.wants("a", "n2")
		if err := two.StepDown(s.Context(), election.StepDown{Scope: "a"}); err != nil {
			s.Error(err)
		}
		pass(time.Minute)
		s.wants("a", "n2") // n1 never leads again
		s.assign(one, config.Role{Scope: "a"})
		if err := two.StepDown(s.Context(), election.StepDown{Scope: "a"}); err != nil {
			s.Error(err)
		}
		pass(time.Minute)
		s.wants("a", "n1")
		s.ends(one)
		s.ends(two)
	})
}

func TestARoleThatRestsIsNotCampaignedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(s *stage) {
		r := s.electors("n1")
		s.assign(r, config.Role{Scope: "a"}, config.Role{Scope: "b"})
		groupsOf(r)[0].elector.Rest("a", time.Minute)
		if err := r.StepDown(s.Context(), election.StepDown{Scope: "a"}); err != nil {
			s.Error(err)
		}
		pass(50 * time.Second)
		s.wants("a")
		s.wants("b", "n1")
		pass(20 * time.Second)
		s.wants("a", "n1")
		s.ends(r)
	})
}
