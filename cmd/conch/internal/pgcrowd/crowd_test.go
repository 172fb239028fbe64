package pgcrowd_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/pgcrowd"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Processes are counted where they say that they are, each once, and no longer once they have left, ended or died.
func TestMeet(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	meet := func(c *pgcrowd.Crowd, places ...string) map[string]int {
		t.Helper()
		crowd, _, err := c.Meet(t.Context(), places)
		if err != nil {
			t.Fatal(err)
		}
		return crowd
	}
	wants := func(got map[string]int, want map[string]int) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	one, two := pgcrowd.New(pg.Config{URL: db.URL}), pgcrowd.New(pg.Config{URL: db.URL, AppName: "two"})
	defer one.Close(t.Context())
	wants(meet(one, "a", "b"), map[string]int{"a": 1, "b": 1})
	wants(meet(one, "a", "b"), map[string]int{"a": 1, "b": 1})
	wants(meet(two, "b", "c"), map[string]int{"b": 2, "c": 1})
	wants(meet(two, "c"), map[string]int{"c": 1})
	wants(meet(one, "a", "b"), map[string]int{"a": 1, "b": 1})
	wants(meet(two, "a"), map[string]int{"a": 2})
	if _, err := db.Connect(t).Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'two'`); err != nil {
		t.Fatal(err)
	}
	pgtest.Eventually(t, time.Minute, "the session that was ended is counted no more", func() bool { return meet(one, "a")["a"] == 1 })
	if _, _, err := two.Meet(t.Context(), []string{"a"}); err == nil {
		t.Error("over a session that was ended: got no error")
	}
	crowd, afresh, err := two.Meet(t.Context(), []string{"a"})
	if wants(crowd, map[string]int{"a": 2}); err != nil || !afresh {
		t.Errorf("the next session: afresh %v, error %v", afresh, err)
	}
	wants(meet(two), map[string]int{})
	wants(meet(one, "a"), map[string]int{"a": 1})
	two.Close(t.Context())
}

// The database shows no name of a place, which may be secret, and the key of a place is not that of a scope.
func TestPlacesAreSecret(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := pgcrowd.New(pg.Config{URL: db.URL})
	defer c.Close(t.Context())
	if _, _, err := c.Meet(t.Context(), []string{"https://x.example/SECRET"}); err != nil {
		t.Fatal(err)
	}
	var shown string
	if err := db.Connect(t).QueryRow(t.Context(), `SELECT coalesce(string_agg(a::text, ' '), '') FROM pg_stat_activity a`).Scan(&shown); err != nil || strings.Contains(shown, "SECRET") {
		t.Errorf("the database shows %q, error %v", shown, err)
	}
}
