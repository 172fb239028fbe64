package pgstore_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

// witness records, at each commit that changes a table, how durable the commit is.
const witness = `
	CREATE TABLE public.seen (what text, how text);
	CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
	    INSERT INTO public.seen VALUES (TG_OP || ' ' || TG_TABLE_NAME, current_setting('synchronous_commit') || ', ' || current_setting('client_min_messages'));
	    RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE OR DELETE ON conch.intents DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see();
	CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON conch.pending_accounts DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see();
	CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON conch.pending_transactions DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see()`

// Every commit waits for the disk and the standby and receives the server's warnings, whatever the
// settings of the database and the role; a stronger setting stays. The same holds behind a pooler,
// whose backends keep none of these settings.
func TestWhatIsPromisedIsDurable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set, want string
		pooled    bool
	}{
		"off":              {set: "off", want: "on, warning"},
		"local":            {set: "local", want: "on, warning"},
		"remote_apply":     {set: "remote_apply", want: "remote_apply, warning"},
		"behind PgBouncer": {set: "off", want: "on, warning", pooled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openShelf(t)
			run(t, s.conn, witness)
			run(t, s.conn, `ALTER DATABASE `+s.db.Name+` SET synchronous_commit = `+c.set)
			run(t, s.conn, `ALTER DATABASE `+s.db.Name+` SET client_min_messages = error`)
			cfg := s.db.Config()
			if c.pooled {
				cfg.URL = s.db.PgBouncer(t, pgtest.TransactionMode).URL(s.db.Name)
			}
			s.Store = opened(t, cfg, 2).Store("evm:1", "test")
			s.promise()
			rows, err := s.conn.Query(t.Context(), `SELECT what, how, count(*) FROM public.seen GROUP BY 1, 2`)
			if err != nil {
				t.Fatal(err)
			}
			open := map[string]bool{
				"INSERT intents": true, "UPDATE intents": true, "DELETE intents": true, "INSERT pending_accounts": true,
				"UPDATE pending_accounts": true, "INSERT pending_transactions": true, "UPDATE pending_transactions": true,
			}
			for rows.Next() {
				var what, how string
				var n int
				if err := rows.Scan(&what, &how, &n); err != nil {
					t.Fatal(err)
				}
				delete(open, what)
				if how != c.want {
					t.Errorf("%s, %d times: got %s, want %s", what, n, how, c.want)
				}
			}
			if err := rows.Err(); err != nil || len(open) > 0 {
				t.Errorf("writes that never happened: %v, error %v", open, err)
			}
			for _, setting := range []string{"synchronous_commit", "client_min_messages"} {
				var left string
				other := pgtest.Connect(t, pg.Config{URL: cfg.URL, Unnamed: true})
				if err := other.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&left); err != nil || !strings.Contains(c.set+" error", left) {
					t.Errorf("the backend keeps %s = %s, error %v", setting, left, err)
				}
			}
		})
	}
}

// promise makes each kind of write.
func (s shelf) promise() {
	s.t.Helper()
	one, no := s.accept("1"), s.accept("no")
	if err := s.Cancel(s.t.Context(), no.ID); err != nil {
		s.t.Error(err)
	}
	s.done(0, one)
	s.write(pending.Batch{New: []pending.Slot{slotOf(1, s.accept("2"))}, Rejects: []pending.Reject{{Intent: s.accept("3").ID, Why: "no"}}})
	if err := s.Settle(s.t.Context(), fence.Token{Scope: "s", Epoch: 2}, pendingtest.Account, writes.Add(1)); err != nil {
		s.t.Error(err)
	}
	if n := s.archive(0); n == 0 {
		s.t.Error("nothing was archived")
	}
}
