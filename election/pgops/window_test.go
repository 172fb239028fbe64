package pgops_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F8: windows of the history have the same gaps as the rule in SQL, wherever they begin, whatever they leave out.
func TestWindowHasTheGapsOfTheWholeHistory(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c, o := db.Connect(t), observe(t, db.URL)
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	kinds := []string{"acquired", "acquired", "acquired", "lost", "failed", "released", "drained", "transferred", "blocked", "evicted"}
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for i := range 400 {
		at := begin.Add(time.Duration(i) * time.Second)
		var beat any
		kind := kinds[random.IntN(len(kinds))]
		if kind == "lost" && i%3 > 0 {
			beat = at.Add(-time.Duration(random.IntN(9000)) * time.Millisecond)
		}
		if kind == "lost" && i%11 == 0 {
			beat = "-infinity"
		}
		run(t, c, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event, reason, actor, beat_at) VALUES ($1, $2, $3, $4, $5, $6, '', $7::text::timestamptz)`,
			at, fmt.Sprint("s", random.IntN(5)), i, fmt.Sprint("node-", random.IntN(3)), kind, fmt.Sprint("Why ", i%7), asText(beat))
	}
	run(t, c, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event) VALUES ('infinity', 's1', 1, 'x', 'lost')`)
	all := map[int64]pgops.Event{}
	whole, err := o.Slowly(t.Context())
	if err != nil || len(whole) != 400 {
		t.Fatalf("%d events, %v; want 400", len(whole), err)
	}
	gaps := 0
	for _, e := range whole {
		all[e.ID] = e
		if e.GapMS != nil {
			gaps++
		}
	}
	if gaps < 50 {
		t.Fatalf("%d gaps, want some to compare", gaps)
	}
	for name, w := range map[string]pgops.Window{
		"all":             {Most: 1000},
		"the newest":      {Most: 37},
		"a scope":         {Scope: "s2", Most: 1000},
		"from":            {From: begin.Add(200 * time.Second), Most: 1000},
		"from to":         {From: begin.Add(100 * time.Second), To: begin.Add(150 * time.Second), Most: 1000},
		"before":          {Before: 120, Most: 50},
		"a holder":        {Holder: "node-1", Most: 1000},
		"terms":           {Events: []string{"acquired"}, Most: 1000},
		"a text":          {From: begin, Text: "WHY 3", Most: 1000},
		"a text and more": {From: begin, Scope: "s1", Text: "why 3", Events: []string{"acquired", "lost"}, Most: 5},
	} {
		events, err := o.Window(t.Context(), w)
		if err != nil || len(events) == 0 || len(events) > w.Most {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
		for i, e := range events {
			if i > 0 && events[i-1].ID >= e.ID {
				t.Errorf("%s: %d comes after %d", name, e.ID, events[i-1].ID)
			}
			if !reflect.DeepEqual(e, all[e.ID]) {
				t.Errorf("%s: %+v, want %+v (gaps %v, %v)", name, e, all[e.ID], show(e.GapMS), show(all[e.ID].GapMS))
			}
		}
	}
}

func show(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

func asText(v any) any {
	if at, is := v.(time.Time); is {
		return at.Format(time.RFC3339Nano)
	}
	return v
}
