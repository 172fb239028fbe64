//go:build unix

package transactions

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/pgcrowd"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// told is a driver that notes what it is told.
type told struct {
	mu   sync.Mutex
	part float64
}

func (a *told) Allow(part float64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.part = part
}

func (a *told) now() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.part
}

// W9: nodes of one database share the calls of a key: one that leads alone has them all, two have half each, and what one
// leaves the other gets. All together are at most a tenth above, at any moment.
func TestNodesShareAKey(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := Chain{Name: "main"}
	var nodes [3]*sharing
	var drivers [3]*told
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range nodes {
		crowd := pgcrowd.New(pg.Config{URL: db.URL})
		nodes[i], drivers[i] = newSharing(crowd), &told{}
		running.Go(func() { defer crowd.Close(ctx); nodes[i].run(ctx) })
		closed := nodes[i].meter(c, "https://provider.example/KEY", 120, drivers[i])
		defer closed()
	}
	wants := func(what string, parts ...float64) {
		t.Helper()
		pgtest.Eventually(t, time.Minute, what, func() bool {
			sum, right := 0.0, true
			for i, want := range parts {
				got := drivers[i].now()
				sum += got
				right = right && (got == want || want == 0 && got <= 120.0/spare/leastOthers)
			}
			if sum > 1.1*120 {
				t.Errorf("%s: the parts are %v together", what, sum)
			}
			return right
		})
	}
	wants("nobody leads", 0, 0, 0)
	first := nodes[0].begin(c)
	wants("one leads", 120, 0, 0)
	second := nodes[1].begin(c)
	another := nodes[1].begin(c)
	wants("two lead", 60, 60, 0)
	first()
	wants("the other one has it all", 0, 120, 0)
	second()
	wants("it still leads an account", 0, 120, 0)
	another()
	third := nodes[2].begin(c)
	wants("the third has taken over", 0, 0, 120)
	third()
	wants("nobody leads any more", 0, 0, 0)
}

// While the database does not answer a share stays as it is, and one that has ended its term has none.
func TestAShareWithoutADatabase(t *testing.T) {
	t.Parallel()
	crowd, away := map[string]int{"open u": 2, "lead u": 2}, error(nil)
	s := &sharing{now: time.Now, look: make(chan struct{}, 1), leads: map[Chain]int{}}
	s.meet = func(context.Context, []string) (map[string]int, bool, error) { return crowd, false, away }
	at := time.Unix(0, 0)
	s.now = func() time.Time { return at }
	driver := &told{}
	closed := s.meter(Chain{}, "u", 40, driver)
	end := s.begin(Chain{})
	s.once(t.Context())
	at = at.Add(settles)
	if s.once(t.Context()); driver.now() != 20 {
		t.Fatalf("two lead: the part is %v, want 20", driver.now())
	}
	away, crowd = errors.New("away"), nil
	at = at.Add(time.Hour)
	if s.once(t.Context()); driver.now() != 20 {
		t.Errorf("the database is away: the part is %v, want 20", driver.now())
	}
	if end(); driver.now() != 1 {
		t.Errorf("the term is over: the part is %v, want 1", driver.now())
	}
	closed()
	away = nil
	s.meet = func(_ context.Context, places []string) (map[string]int, bool, error) {
		if driver = nil; len(places) > 0 {
			t.Errorf("nothing is open, and it is at %q", places)
		}
		return nil, false, nil
	}
	if s.once(t.Context()); driver != nil {
		t.Error("nothing is open, and the others are not told")
	}
	s.meet = func(context.Context, []string) (map[string]int, bool, error) {
		t.Error("nothing is open, and it asks the database")
		return nil, false, nil
	}
	if s.once(t.Context()) {
		t.Error("nothing is open, and it looks again")
	}
}

// One whose term ends says so at once, and not with its next look: until then its successor has next to nothing.
func TestTheEndOfATermIsToldAtOnce(t *testing.T) {
	t.Parallel()
	s := &sharing{now: time.Now, look: make(chan struct{}, 1), leads: map[Chain]int{}}
	s.meter(Chain{}, "u", 40, &told{})
	end, other := s.begin(Chain{}), s.begin(Chain{})
	<-s.look
	other()
	if len(s.look) != 0 {
		t.Error("it still leads an account, and looks")
	}
	if end(); len(s.look) != 1 {
		t.Error("it leads no more, and does not look")
	}
}

// What changes while the others are counted is counted the next time.
func TestAShareThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	s := &sharing{now: time.Now, look: make(chan struct{}, 1), leads: map[Chain]int{}}
	early, late := &told{}, &told{}
	s.meter(Chain{}, "u", 40, early)
	end := s.begin(Chain{})
	s.meet = func(context.Context, []string) (map[string]int, bool, error) {
		s.meter(Chain{}, "v", 40, late)
		return map[string]int{"open u": 1, "lead u": 1}, false, nil
	}
	if s.once(t.Context()); early.now() != 40 || late.now() != 1 {
		t.Errorf("one was opened meanwhile: the parts are %v and %v, want 40 and 1", early.now(), late.now())
	}
	s.meet = func(context.Context, []string) (map[string]int, bool, error) {
		end()
		return map[string]int{"open u": 1, "lead u": 1, "open v": 1, "lead v": 1}, false, nil
	}
	if s.once(t.Context()); early.now() != 1 || late.now() != 1 {
		t.Errorf("the term has ended meanwhile: the parts are %v and %v, want 1", early.now(), late.now())
	}
}
