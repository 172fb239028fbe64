package pgtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
)

// witness records, at each commit that changes a table, how durable the commit is.
const witness = `
	CREATE TABLE public.seen (what text, how text);
	CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
	BEGIN
	    INSERT INTO public.seen VALUES (TG_OP || ' ' || TG_TABLE_NAME, current_setting('synchronous_commit') || ', ' || current_setting('client_min_messages'));
	    RETURN NULL;
	END $$`

// Durable checks that every commit of a store waits for the disk and the standby and receives the server's warnings, whatever the
// settings of the database; a stronger setting stays. The same holds behind a pooler, whose backends keep none of these settings.
// Do makes each kind of write, which are named as "INSERT intents", of tables of the schema conch. Public.seen has a row for each.
func Durable(t *testing.T, do func(t *testing.T, db *DB, cfg pg.Config), writes ...string) {
	t.Helper()
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
			db := New(t)
			statements := []string{witness, `ALTER DATABASE ` + db.Name + ` SET synchronous_commit = ` + c.set, `ALTER DATABASE ` + db.Name + ` SET client_min_messages = error`}
			for _, write := range writes {
				op, table, _ := strings.Cut(write, " ")
				statements = append(statements, fmt.Sprintf(`CREATE CONSTRAINT TRIGGER see_%s AFTER %[1]s ON conch.%[2]s DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.see()`, op, table))
			}
			conn := db.Connect(t)
			for _, sql := range statements {
				if _, err := conn.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			cfg := db.Config()
			if c.pooled {
				cfg.URL = db.PgBouncer(t, TransactionMode).URL(db.Name)
			}
			do(t, db, cfg)
			witnessed(t, conn, c.want, writes)
			settingsLeft(t, pg.Config{URL: cfg.URL, Unnamed: true})
		})
	}
}

// witnessed compares what the commits of each kind of write were made with.
func witnessed(t *testing.T, conn *pgx.Conn, want string, writes []string) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT DISTINCT what, how FROM public.seen`)
	if err != nil {
		t.Fatal(err)
	}
	open := slices.Clone(writes)
	var what, how string
	_, err = pgx.ForEachRow(rows, []any{&what, &how}, func() error {
		open = slices.DeleteFunc(open, func(write string) bool { return write == what })
		if how != want {
			t.Errorf("%s is committed with %s, want %s", what, how, want)
		}
		return nil
	})
	if err != nil || len(open) > 0 {
		t.Errorf("writes that never happened: %q, error %v", open, err)
	}
}

// settingsLeft checks that a backend keeps no setting of the connections that it has served.
func settingsLeft(t *testing.T, cfg pg.Config) {
	t.Helper()
	conn := Connect(t, cfg)
	for _, setting := range []string{"synchronous_commit", "client_min_messages", "enable_seqscan", "jit"} {
		var left, first string
		if err := conn.QueryRow(t.Context(), `SELECT current_setting($1), reset_val FROM pg_settings WHERE name = $1`, setting).Scan(&left, &first); err != nil || left != first {
			t.Errorf("the backend keeps %s = %s, error %v", setting, left, err)
		}
	}
}
