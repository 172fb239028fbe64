package pgops_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F8, S12: the database tells who waits until no predecessor can act: the successor of a leader that died, for its lease, and neither a
// first leader, nor one that was handed the scope, nor one that waits for nobody.
func TestWhoWaitsForPredecessors(t *testing.T) {
	t.Parallel()
	for name, takeover := range map[string]mint.Takeover{"strict": mint.Strict, "fast": mint.Fast} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			o, c := observe(t, db.URL), db.Connect(t)
			holds := func(when string, want bool) {
				t.Helper()
				beats, err := o.Beats(t.Context())
				if err != nil || len(beats) != 1 {
					t.Fatalf("%s: the heartbeats are %+v, %v; want those of one", when, beats, err)
				}
				if got := status(t, o, "s"); got.Holding != want || (beats[0].Holds == 1) != want {
					t.Errorf("%s: %s holds: %v, in %d scopes; want %v", when, got.Holder, got.Holding, beats[0].Holds, want)
				}
			}
			m := mintWith(t, pgmint.Config{URL: db.URL})
			a, b := candidate(t, m, "a", unhurried, takeover), candidate(t, m, "b", unhurried, takeover)
			token := lead(t, a, "s", unhurried)
			holds("the first leader", false)
			if said, err := a.Release(t.Context(), []mint.Farewell{{Token: token, Released: true}}); err != nil || said[0].Outcome != mint.Said {
				t.Fatalf("%+v, %v", said, err)
			}
			lead(t, b, "s", unhurried)
			holds("after a handover", false)
			run(t, c, `SELECT pg_terminate_backend(k.pid) FROM pg_locks k JOIN conch.process p ON (k.classid::bigint << 32) | k.objid::bigint = p.process_key
				WHERE k.locktype = 'advisory' AND k.objsubid = 1 AND p.id = 'b'`)
			pgtest.Eventually(t, time.Minute, "b is dead", func() bool { return !status(t, o, "s").Held })
			lead(t, a, "s", unhurried)
			holds("after a death", takeover == mint.Strict)
			run(t, c, `UPDATE conch.leadership SET acquired_at = acquired_at - interval '1 hour'`)
			holds("an hour later", false)
			run(t, c, `UPDATE conch.leadership SET acquired_at = acquired_at + interval '2 hours'`)
			holds("with a clock that was set back by an hour", false)
		})
	}
}
