package pgops_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// F11: old rows of the history are deleted under the fence, a thousand at a time, but for what each scope's last term has written; and requests that have ended.
func TestTrim(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	conn := db.Connect(t)
	pgtest.Exec(t, conn, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event)
		SELECT now() - interval '300 days', 'often', 0, 'x', 'blocked' FROM generate_series(1, 1500)`)
	pgtest.Exec(t, conn, `INSERT INTO conch.leadership_history (at, scope, epoch, holder, event) SELECT now() - make_interval(days => d), s, e, 'x', v
		FROM (VALUES (200, 'idle', 1, 'acquired'), (199, 'idle', 1, 'failed'), (100, 'often', 1, 'acquired'), (99, 'often', 1, 'released'), (99, 'often', 2, 'acquired'),
		             (91, 'often', 2, 'lost'), (80, 'young', 1, 'acquired'), (79, 'young', 2, 'acquired')) AS r(d, s, e, v)`)
	pgtest.Exec(t, conn, `INSERT INTO conch.command (scope, epoch, verb, actor, timeout_ms, done_at)
		SELECT 's', 1, 'drain', 'x', 0, now() - make_interval(days => d) FROM (VALUES (100), (80), (NULL)) AS r(d)`)
	session, err := newMint(t, db.URL).Open(t.Context(), mint.Candidate{ID: "a", Lease: unhurried, Longest: unhurried, Takeover: mint.Strict, Scopes: []string{"compactor"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	won, err := session.Try(t.Context(), []mint.Bid{{Scope: "compactor", Lease: unhurried}})
	if err != nil {
		t.Fatal(err)
	}
	trimmer, err := pgops.OpenTrimmer(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer trimmer.Close()
	left := func() string {
		rows, _ := conn.Query(t.Context(), `
			SELECT concat_ws(' ', (SELECT count(*) FROM conch.leadership_history WHERE event = 'blocked'),
			       (SELECT string_agg(concat(scope, epoch, event), ' ' ORDER BY id) FROM conch.leadership_history WHERE event <> 'blocked' AND scope <> 'compactor'),
			       (SELECT count(*) FROM conch.command))`)
		text, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before, all := time.Now().Add(-90*24*time.Hour), left()
	stale := won[0].Token
	stale.Epoch++
	if _, err := trimmer.Trim(t.Context(), stale, before, 0); !errors.Is(err, fence.ErrStale) || left() != all {
		t.Errorf("with a stale token: %v, and left are %s", err, left())
	}
	says := ""
	for done := (pgops.Trimmed{More: true}); done.More; {
		if done, err = trimmer.Trim(t.Context(), won[0].Token, before, done.Next); err != nil {
			t.Fatal(err)
		}
		says += fmt.Sprint(done.Next > 0, " ", done.History, done.Requests, " ", left(), "; ")
	}
	const some, rest = "true 1000 1 500 idle1acquired idle1failed often1acquired often1released often2acquired often2lost young1acquired young2acquired 2; ",
		"false 502 0 0 idle1acquired idle1failed often2acquired often2lost young1acquired young2acquired 2; "
	if says != some+rest {
		t.Errorf("left are\n%s, want\n%s", says, some+rest)
	}
	if _, err = trimmer.Trim(t.Context(), won[0].Token, time.Now().Add(24*time.Hour), 0); err != nil || left() != "0 idle1acquired idle1failed often2acquired often2lost young2acquired 1" {
		t.Errorf("with a clock that is ahead: %v, and left are %s", err, left())
	}
}
