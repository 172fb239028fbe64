package pgstore_test

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// witness records, at each commit of a log, how durable the commit is.
const witness = `
	CREATE TABLE public.seen (how text);
	CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
	    INSERT INTO public.seen VALUES (TG_OP || ' ' || current_setting('synchronous_commit') || ', ' || current_setting('client_min_messages'));
	    RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON conch.log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see()`

// sync-first: every commit waits for the disk and the standby and receives the server's warnings, whatever the settings of the
// database; a stronger setting stays. The same holds behind a pooler, whose backends keep none of these settings.
func TestWhatIsToldIsDurable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set, want string
		pooled    bool
	}{
		"off":              {set: "off", want: "on, warning"},
		"remote_apply":     {set: "remote_apply", want: "remote_apply, warning"},
		"behind PgBouncer": {set: "off", want: "on, warning", pooled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			conn := db.Connect(t)
			run(t, conn, witness)
			run(t, conn, `ALTER DATABASE `+db.Name+` SET synchronous_commit = `+c.set)
			run(t, conn, `ALTER DATABASE `+db.Name+` SET client_min_messages = error`)
			cfg := db.Config()
			if c.pooled {
				cfg.URL = db.PgBouncer(t, pgtest.TransactionMode).URL(db.Name)
			}
			everything(t, opened(t, cfg), conn)
			seen := asked[string](t, conn, `SELECT string_agg(DISTINCT how, '; ' ORDER BY how) FROM public.seen`)
			if want := fmt.Sprintf("INSERT %s; UPDATE %[1]s", c.want); seen != want {
				t.Errorf("commits were made with %s, want %s", seen, want)
			}
			for _, setting := range []string{"synchronous_commit", "client_min_messages"} {
				other := pgtest.Connect(t, pg.Config{URL: cfg.URL, Unnamed: true})
				if left := asked[string](t, other, `SELECT current_setting($1) FROM pg_settings WHERE name = $1 AND current_setting($1) <> reset_val UNION ALL SELECT '' LIMIT 1`, setting); left != "" {
					t.Errorf("the backend keeps %s = %s", setting, left)
				}
			}
		})
	}
}
