package pgmint_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F8: the history says why nobody led for long, if that is that no candidate was connected, and nothing of the kind otherwise. It cannot be found
// out afterwards, since sessions are forgotten.
func TestTheHistorySaysThatNoCandidateWasThere(t *testing.T) {
	t.Parallel()
	const (
		since = `UPDATE conch.heartbeat SET beat_at = beat_at - interval '23 minutes 20 seconds'`
		gone  = `UPDATE conch.process SET started_at = started_at - interval '1 hour', last_seen = last_seen - interval '23 minutes 20 seconds' WHERE id = 'a'`
		rival = `INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks, started_at, last_seen)
		         SELECT 7, 'c', '{s}', 1000, 'strict', 'session', clock_timestamp() - interval '1 hour', clock_timestamp() - `
	)
	for name, c := range map[string]struct {
		before []string // what has happened when the next bids
		says   string   // empty: nothing
	}{
		"nobody was there":             {[]string{since, gone}, "for 23 min no candidate was connected to the database"},
		"all were gone with it":        {[]string{since, gone, rival + `interval '23 minutes 5 seconds'`}, "for 23 min no candidate was connected to the database"},
		"another was there":            {[]string{since, gone, rival + `interval '40 seconds'`}, ""},
		"another is seen seldom":       {[]string{strings.ReplaceAll(since, "23 minutes 20 seconds", "40 seconds"), gone, rival + `interval '25 seconds'`}, ""},
		"another went before it":       {[]string{since, gone, rival + `interval '10 minutes'`}, ""},
		"it was short":                 {[]string{strings.ReplaceAll(since, "23 minutes 20 seconds", "20 seconds"), gone}, ""},
		"it was given up":              {[]string{since, gone, `UPDATE conch.leadership SET parted_at = clock_timestamp() - interval '100 seconds', released = true`}, ""},
		"it was found to be lost late": {[]string{since, gone, `UPDATE conch.leadership SET parted_at = clock_timestamp(), lost = true`, `INSERT INTO conch.leadership_history (scope, epoch, holder, event, beat_at) SELECT scope, epoch, holder, 'lost', clock_timestamp() - interval '23 minutes 20 seconds' FROM conch.leadership`}, "for 23 min no candidate was connected to the database"},
		"no time is known":             {[]string{gone, `UPDATE conch.heartbeat SET beat_at = '-infinity'`}, ""},
		"nor that of the candidate":    {[]string{since, gone, rival + `interval '0'`, `UPDATE conch.process SET started_at = 'infinity'`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			m := mintWith(t, pgmint.Config{URL: db.URL})
			a := candidate(t, m, "a", unhurried, mint.Strict)
			lead(t, a, "s", unhurried)
			_ = a.Close()
			conn := db.Connect(t)
			b := candidate(t, m, "b", unhurried, mint.Strict)
			for _, sql := range c.before {
				run(t, conn, sql)
			}
			pgtest.Eventually(t, unhurried, "it leads", func() bool { return bid(t, b, mint.Bid{Scope: "s", Lease: unhurried}).Outcome == mint.Won })
			want := c.says
			if want != "" {
				want = "blocked a 1: " + want
				if text(t, conn, `SELECT (pg_postmaster_start_time() > clock_timestamp() - interval '23 minutes')::text`) == "true" {
					want += ", whose server was started meanwhile"
				}
			}
			got := text(t, conn, `SELECT coalesce(string_agg(event || ' ' || holder || ' ' || epoch || ': ' || reason, '; ' ORDER BY id), '') FROM conch.leadership_history WHERE epoch = 1 AND event = 'blocked'`)
			if got != want {
				t.Errorf("the history says %q, want %q", got, want)
			}
			if last := text(t, conn, `SELECT string_agg(event, ' ' ORDER BY id) FROM (SELECT * FROM conch.leadership_history ORDER BY id DESC LIMIT 2) h`); c.says != "" && last != "blocked acquired" {
				t.Errorf("the last events are %q, want what is said before what began then", last)
			}
		})
	}
}
