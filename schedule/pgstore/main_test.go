package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule/pgstore"
)

// standIn replaces the election's fence, whose schema this wing must not know. The tests of the binary use the real one.
const standIn = `
	CREATE TABLE public.minted (epoch bigint, scope text DEFAULT '');
	INSERT INTO public.minted VALUES (1);
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    IF epoch <> (SELECT m.epoch FROM public.minted m WHERE m.scope IN ('', fence.scope) ORDER BY m.scope DESC LIMIT 1) THEN
	        RAISE EXCEPTION USING ERRCODE = 'CN001', MESSAGE = 'stale';
	    END IF;
	END $$`

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		if err := pgstore.Up(ctx, conn, nil); err != nil {
			return err
		}
		_, err := conn.Exec(ctx, standIn)
		return err
	})
	pgtest.Main(m)
}

// patience is for a busy machine.
const patience = 30 * time.Second

var (
	leader = fence.Token{Scope: "scheduler", Epoch: 1, Holder: "me", Term: fence.Term{1}}
	worker = fence.Token{Scope: "worker/1", Epoch: 1, Holder: "me", Term: fence.Term{2}}
)

// opened returns a store that is closed when the test ends, and a connection to its database.
func opened(t testing.TB) (*pgstore.Store, *pgx.Conn) {
	t.Helper()
	db := pgtest.New(t)
	return open(t, db.Config()), db.Connect(t)
}

func open(t testing.TB, cfg pg.Config) *pgstore.Store {
	t.Helper()
	s, err := pgstore.Open(t.Context(), cfg, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// scan returns what one row has.
func scan[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (v T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.QueryRow(ctx, sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}
