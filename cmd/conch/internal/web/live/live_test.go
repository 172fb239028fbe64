package live_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/web/live"
	"github.com/conchhq/conch/election/pgops"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// F8: the first line says in words how things stand, and nothing while the database is away.
func TestTheVerdictInWords(t *testing.T) {
	t.Parallel()
	up := live.Source{Database: live.Up}
	for want, c := range map[string]struct {
		counts live.Counts
		source live.Source
	}{
		"well: All 8 scopes are led":      {live.Counts{Total: 8, Led: 8}, up},
		"well: All 12,345 scopes are led": {live.Counts{Total: 12345, Led: 12345}, up},
		"well: The one scope is led":      {live.Counts{Total: 1, Led: 1}, up},
		"well: All 12,345 scopes are led; 5 leaders wait until no predecessor can act":         {live.Counts{Total: 12345, Led: 12340, Holding: 5}, up},
		"well: The one scope is led; 1 leader waits until no predecessor can act":              {live.Counts{Total: 1, Holding: 1}, up},
		"well: 2 of 3 scopes are led, 1 given up; 1 leader waits until no predecessor can act": {live.Counts{Total: 3, Led: 1, Holding: 1, Released: 1}, up},
		"well: 7 of 8 scopes are led, 1 given up":                                              {live.Counts{Total: 8, Led: 7, Released: 1}, up},
		"well: 1 of 2 scopes is led, 1 given up":                                               {live.Counts{Total: 2, Led: 1, Released: 1}, up},
		"well: 1 scope is given up, and nobody wants to lead":                                  {live.Counts{Total: 1, Released: 1}, up},
		"trouble: 1 of 1,000 scopes has no leader":                                             {live.Counts{Total: 1000, Led: 997, Nobody: 1, Late: 2}, up},
		"trouble: 3 of 8 scopes have no leader":                                                {live.Counts{Total: 8, Nobody: 3}, up},
		"trouble: 1 of 1 scope has no leader":                                                  {live.Counts{Total: 1, Nobody: 1}, up},
		"trouble: The leader of 2 of 8 scopes sends no heartbeats":                             {live.Counts{Total: 8, Late: 2}, up},
		"trouble: The role of 1 of 8 scopes has failed in the last ten minutes":                {live.Counts{Total: 8, Fails: 1}, up},
		"empty: There is no scope yet":                                                         {live.Counts{}, up},
		"unknown: Not known: the database has not answered for 43 s":                           {live.Counts{Total: 8, Led: 8}, live.Source{Database: live.Away, ForMS: 43_900}},
		"unknown: Not known: the database has not answered for 2 h 5 min":                      {live.Counts{}, live.Source{Database: live.Away, ForMS: 7_512_000}},
		"unknown: Not known: the database was not asked yet":                                   {live.Counts{}, live.Source{Database: live.Unknown}},
		"well: All 2 scopes are led":                                                           {live.Counts{Total: 2, Led: 2}, live.Source{Database: live.Absent}},
	} {
		if v := live.Judge(c.counts, c.source); v.State+": "+v.Text != want {
			t.Errorf("%+v: %s: %s, want %s", c.counts, v.State, v.Text, want)
		}
	}
	if got := live.Words(75 * time.Second); got != "1 min 15 s" {
		t.Errorf("75 s are %q", got)
	}
}

// The state of a scope follows from its row alone.
func TestStates(t *testing.T) {
	t.Parallel()
	who := []string{"a"}
	for want, s := range map[live.State]pgops.ScopeStatus{
		live.Led:      {Held: true, LeaseMS: 3000, HeartbeatAgeMS: 3000, Candidates: who},
		live.Late:     {Held: true, LeaseMS: 3000, HeartbeatAgeMS: 3001, Candidates: who, Failures: 1},
		live.Fails:    {Held: true, LeaseMS: 3000, Failures: 1, Candidates: who, Holding: true},
		live.Holding:  {Held: true, LeaseMS: 3000, Candidates: who, Holding: true},
		live.Released: {Released: true},
		live.Nobody:   {Released: true, Candidates: who}, // somebody wants it, and does not lead
	} {
		if got := live.RowOf(s).State; got != want {
			t.Errorf("%+v is %s, want %s", s, got, want)
		}
	}
	if got := live.RowOf(pgops.ScopeStatus{}).State; got != live.Nobody { // its leader died
		t.Errorf("a scope that nobody holds or gave up is %s", got)
	}
}

// A viewer that takes what has changed since any version it has seen, and takes it twice, has what the newest reading has; what it gets
// has no row that it knew already.
func TestAnyVersionLeadsToTheNewestReading(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var set live.Set
		var readings []map[string]live.Row // by version
		readings = append(readings, map[string]live.Row{})
		now := map[string]live.Row{}
		for range 30 {
			for range random.IntN(4) {
				scope := fmt.Sprint("s", random.IntN(6))
				if random.IntN(3) == 0 {
					delete(now, scope)
				} else {
					now[scope] = live.Row{Scope: scope, State: live.Led, Epoch: int64(random.IntN(3)), Candidates: []string{}}
				}
			}
			aged := slices.Collect(maps.Values(now))
			for i := range aged {
				aged[i].HeartbeatAgeMS = random.Int64N(1000)
			}
			before := set.Version()
			if changed := set.Take(aged); changed != (set.Version() > before) {
				t.Fatalf("seed %d: changed is %v, and the version went from %d to %d", seed, changed, before, set.Version())
			} else if changed {
				readings = append(readings, maps.Clone(now))
			} else if !same(readings[len(readings)-1], now) {
				t.Fatalf("seed %d: a change was not seen", seed)
			}
		}
		for version, had := range readings {
			c, known := set.Since(uint64(version))
			if !known || c.Version != set.Version() {
				t.Fatalf("seed %d: from version %d: known %v, to %d", seed, version, known, c.Version)
			}
			has := maps.Clone(had)
			for range 2 {
				for _, r := range c.Rows {
					has[r.Scope] = r
				}
				for _, scope := range c.Gone {
					delete(has, scope)
				}
			}
			if !same(has, now) {
				t.Fatalf("seed %d: from version %d: %v, want %v", seed, version, has, now)
			}
			if version == len(readings)-1 && len(c.Rows)+len(c.Gone) > 0 {
				t.Fatalf("seed %d: the newest version lacks %v", seed, c)
			}
		}
		if _, known := set.Since(set.Version() + 1); known {
			t.Fatal("a version of another process is known")
		}
	}
}

func same(a, b map[string]live.Row) bool {
	return maps.EqualFunc(a, b, func(x, y live.Row) bool { return x.Epoch == y.Epoch && x.State == y.State })
}

// So many scopes go that they are not remembered: who lacks them is told to read all, and who does not is not.
func TestWhatIsGoneForLong(t *testing.T) {
	t.Parallel()
	var set live.Set
	rows := []live.Row{{Scope: "stays"}}
	for i := range 10_001 {
		rows = append(rows, live.Row{Scope: fmt.Sprint("s", i)})
	}
	set.Take(rows)
	set.Take(rows[:1])
	if _, known := set.Since(1); known {
		t.Error("what has gone is not known any more, and a viewer is not told")
	}
	if _, known := set.Since(2); !known {
		t.Error("a viewer that lacks nothing is told to read all")
	}
}

// All pages together have each selected row once, trouble first, also if rows change between them.
func TestPages(t *testing.T) {
	t.Parallel()
	var rows []live.Row
	for i := range 100 {
		rows = append(rows, live.Row{Scope: fmt.Sprintf("s%02d", i), State: live.States()[i%6], Holder: fmt.Sprint("Node-", i%2)})
	}
	q := live.Query{Most: 7, Text: "node-1"}
	var got []live.Row
	for {
		page, found := live.List(rows, q)
		if found != 50 {
			t.Fatalf("%d found, want 50", found)
		}
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		q.After = new(page[len(page)-1].Place())
	}
	if len(got) != 50 || got[0].State != live.Late && got[0].State != live.Nobody {
		t.Fatalf("%d rows, the first is %v", len(got), got[0])
	}
	if !slices.IsSortedFunc(got, func(a, b live.Row) int {
		return slices.Index(live.States(), a.State) - slices.Index(live.States(), b.State)
	}) {
		t.Error("rows that need somebody do not come first")
	}
	if page, found := live.List(rows, live.Query{Most: 100, States: []live.State{live.Led, live.Late}}); found != len(page) || found != 33 {
		t.Errorf("%d of two states, want 33", found)
	}
}
