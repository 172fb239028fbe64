package pgstore_test

import (
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// witness records, at each commit of a node, how durable the commit is.
const witness = `
	CREATE TABLE public.seen (how text);
	CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
	    INSERT INTO public.seen VALUES (TG_OP || ' ' || current_setting('synchronous_commit') || ', ' || current_setting('client_min_messages'));
	    RETURN NULL;
	END $$;
	CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON conch.sequencer_nodes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see()`

// P28, P38: every commit waits for the disk and the standby and receives the server's warnings, whatever the settings of the
// database; a stronger setting stays. The same holds behind a pooler, whose backends keep none of these settings. Every
// start and every write changes the row of its node, so each of them is a commit that is waited for.
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
			db := pgtest.New(t)
			conn := db.Connect(t)
			run(t, conn, witness)
			run(t, conn, `ALTER DATABASE `+db.Name+` SET synchronous_commit = `+c.set)
			run(t, conn, `ALTER DATABASE `+db.Name+` SET client_min_messages = error`)
			cfg := db.Config()
			if c.pooled {
				cfg.URL = db.PgBouncer(t, pgtest.TransactionMode).URL(db.Name)
			}
			d := opened(t, cfg)
			begin(t, d, 1)
			s := begin(t, d, 1)
			everything(t, s)
			write(t, s, submitted(1, "a")) // it is there
			var seen []string
			if err := conn.QueryRow(t.Context(), `SELECT array_agg(DISTINCT how ORDER BY how) FROM public.seen`).Scan(&seen); err != nil {
				t.Fatal(err)
			}
			if got, want := strings.Join(seen, "; "), "INSERT "+c.want+"; UPDATE "+c.want; got != want {
				t.Errorf("commits were made with %s, want %s", got, want)
			}
			var commits int
			if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM public.seen`).Scan(&commits); err != nil || commits != 2+written+1 {
				t.Errorf("%d commits changed the node's row, error %v; want %d", commits, err, 2+written+1)
			}
			for _, setting := range []string{"synchronous_commit", "client_min_messages", "enable_seqscan", "jit"} {
				var left, first string
				other := pgtest.Connect(t, pg.Config{URL: cfg.URL, Unnamed: true})
				if err := other.QueryRow(t.Context(), `SELECT current_setting($1), reset_val FROM pg_settings WHERE name = $1`, setting).Scan(&left, &first); err != nil || left != first {
					t.Errorf("the backend keeps %s = %s, error %v", setting, left, err)
				}
			}
		})
	}
}
