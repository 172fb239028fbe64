package pgops_test

import (
	"testing"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A role that may write an epoch cannot use all of them up: nothing may lower one again.
func TestANodeCannotUseUpTheEpochs(t *testing.T) {
	t.Parallel()
	c := granted(t)
	node := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Node)})
	owner := c.DB.Connect(t)
	run(t, node, `INSERT INTO conch.leadership (scope, lock_key, epoch, term, holder, lease_ms, hold_ms, released, process_key, takeover, system_id, timeline, acquired_at, parted_at)
		VALUES ('s', 0, 0, gen_random_uuid(), '', 0, 0, true, 0, 'strict', 1, 1, now(), now())`)
	for _, step := range []struct {
		what, sql string
		allowed   bool
	}{
		{"the next epoch", `UPDATE conch.leadership SET epoch = epoch + 1`, true},
		{"the jump after a failover", `UPDATE conch.leadership SET epoch = epoch + 1000001`, true},
		{"a leap", `UPDATE conch.leadership SET epoch = epoch + 1000002`, false},
		{"the last epoch", `UPDATE conch.leadership SET epoch = 9223372036854775807`, false},
		{"a leap over a timeline that is none", `UPDATE conch.leadership SET epoch = epoch + 2000000, timeline = 9223372036854775807`, false},
		{"a timeline by which a bid would overflow", `UPDATE conch.leadership SET timeline = -9223372036854775807`, false},
		{"a timeline beyond the last", `UPDATE conch.leadership SET timeline = 4294967296`, false},
		{"a term that begins never", `UPDATE conch.leadership SET acquired_at = 'infinity'`, false},
		{"a term that has always been over", `UPDATE conch.leadership SET parted_at = '-infinity'`, false},
		{"a new scope at the last epoch", `INSERT INTO conch.leadership SELECT 'new', lock_key, 9223372036854775807, term, holder, lease_ms, hold_ms, released,
			process_key, takeover, system_id, timeline, transfer_to, acquired_at, parted_at, lost, forgotten FROM conch.leadership WHERE scope = 's'`, false},
		{"a lease that a bid cannot read", `INSERT INTO conch.process (process_key, id, scopes, lease_ms, takeover, locks) VALUES (1, 'x', '{s}', 2147483648, 'strict', 'session')`, false},
	} {
		_, err := node.Exec(t.Context(), step.sql)
		if code := pg.Code(err); (err == nil) != step.allowed || err != nil && code != "22003" && code != "23514" {
			t.Errorf("%s: got %v, want it allowed: %t", step.what, err, step.allowed)
		}
	}
	run(t, node, `INSERT INTO conch.heartbeat (scope, epoch, holder, term, beat_at) VALUES ('s', 1, '', gen_random_uuid(), 'infinity')`)
	run(t, node, `INSERT INTO conch.leadership_history (scope, epoch, holder, event, reason, at, beat_at) VALUES ('s', 1, '', 'lost', '', now(), 'infinity'), ('s', 2, '', 'lost', '', '-infinity', NULL), ('s', 2, '', 'acquired', '', now(), NULL)`)
	o, err := pgops.Observe(t.Context(), pgmint.Config{URL: c.As(t, c.Observer)})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if _, err := o.Scopes(t.Context(), ""); err != nil {
		t.Errorf("times without end hide the status of every scope: %v", err)
	}
	if events, err := o.History(t.Context(), "", 9); err != nil || len(events) != 2 {
		t.Errorf("times without end hide the history of every scope: %v, %v", events, err)
	}
	run(t, owner, `SELECT conch.advance('s', 4611686018427387904, 'ops')`)
	if _, err := owner.Exec(t.Context(), `UPDATE conch.leadership SET epoch = epoch + 1000002`); pg.Code(err) != "22003" {
		t.Errorf("the owner above 2^62: got %v, want a refusal", err)
	}
	a := candidate(t, newMint(t, c.As(t, c.Node)), "a", unhurried, mint.Strict)
	if token := lead(t, a, "s", unhurried); token.Epoch != 4611686018427387904+1 && token.Epoch != 4611686018427387904+1000001 {
		t.Errorf("got epoch %d after the owner advanced it to 2^62, want a bid to go on from there", token.Epoch)
	}
}
