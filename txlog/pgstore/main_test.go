package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/txlog/internal/authoritytest"
	"github.com/conchhq/conch/txlog/pgstore"
)

// standIn replaces the election's fence, whose schema this wing must not know: a mint raises the epoch, and waits for the
// transactions of the one before. The tests of the binary use the real one.
const standIn = `
	CREATE TABLE public.minted (epoch bigint);
	INSERT INTO public.minted VALUES (1);
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    PERFORM pg_advisory_xact_lock_shared(1);
	    IF epoch <> (SELECT m.epoch FROM public.minted m) THEN
	        RAISE EXCEPTION USING ERRCODE = 'CN001', MESSAGE = 'stale';
	    END IF;
	END $$;
	CREATE FUNCTION public.mint() RETURNS bigint LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	DECLARE
	    new bigint;
	BEGIN
	    PERFORM pg_advisory_xact_lock(1);
	    UPDATE public.minted SET epoch = epoch + 1 RETURNING epoch INTO new;
	    RETURN new;
	END $$`

func TestMain(m *testing.M) {
	pgtest.Template(made)
	pgtest.Main(m)
}

// made creates the tables in a database.
func made(ctx context.Context, conn *pgx.Conn) error {
	if err := pgstore.Up(ctx, conn, nil); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, standIn)
	return err
}

// patience is for a busy machine.
const patience = 30 * time.Second

const scope = "log:exercise"

var genesis = authoritytest.Genesis("exercise")

func token(epoch int64) fence.Token {
	return fence.Token{Scope: scope, Epoch: epoch, Holder: "me", Term: fence.Term{byte(epoch)}}
}

// minted has the election choose anew.
func minted(t testing.TB, conn *pgx.Conn) fence.Token {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var epoch int64
	if err := conn.QueryRow(ctx, `SELECT public.mint()`).Scan(&epoch); err != nil {
		t.Fatal(err)
	}
	return token(epoch)
}

// opened returns a Database that is closed when the test ends.
func opened(t testing.TB, cfg pg.Config) *pgstore.Database {
	t.Helper()
	d, err := pgstore.Open(t.Context(), cfg, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// created returns a Database that has the log.
func created(t testing.TB, cfg pg.Config) *pgstore.Database {
	t.Helper()
	d := opened(t, cfg)
	if err := d.Create(t.Context(), genesis, scope); err != nil {
		t.Fatal(err)
	}
	return d
}

func run(t testing.TB, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := conn.Exec(ctx, sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func asked[T any](t testing.TB, conn *pgx.Conn, sql string, args ...any) (answer T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := conn.QueryRow(ctx, sql, args...).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return answer
}

func receive[T any](t testing.TB, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(patience):
		t.Fatalf("nothing came within %v", patience)
	}
	return got
}
