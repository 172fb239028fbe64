package pgops_test

import (
	"testing"

	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Scopes are counted by what the database says of their leaders, and epochs of all, the forgotten too.
func TestTally(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn := db.Connect(t)
	o := observe(t, db.URL)
	if got, err := o.Tally(t.Context()); err != nil || got != (pgops.Tally{}) {
		t.Errorf("without scopes: %+v, %v", got, err)
	}
	pgtest.Exec(t, conn, `
		INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released, process_key, takeover, system_id, timeline, acquired_at, forgotten)
		SELECT s, conch.lock_key(s), 3, t, 'x', 3000, 3000, r, 1, 'strict', 1, 1, now() - interval '1 hour', CASE WHEN f THEN t END
		  FROM (VALUES ('led', false, false), ('given up', true, false), ('frozen', false, false), ('never beaten', false, false), ('forgotten', true, true)) AS v(s, r, f), gen_random_uuid() t`)
	pgtest.Exec(t, conn, `INSERT INTO conch.heartbeat (scope, epoch, holder, term, beat_at)
		SELECT s, 3, 'x', gen_random_uuid(), now() - make_interval(secs => a) FROM (VALUES ('led', 2), ('given up', 60), ('frozen', 60)) AS v(s, a)`)
	if got, err := o.Tally(t.Context()); err != nil || got != (pgops.Tally{Led: 1, Released: 1, Silent: 2, Epochs: 15}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
