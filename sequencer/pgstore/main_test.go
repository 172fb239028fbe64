package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/storetest"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
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
	CREATE FUNCTION public.mint(new bigint) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    PERFORM pg_advisory_xact_lock(1);
	    UPDATE public.minted SET epoch = new;
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

func token(epoch int64) fence.Token {
	return fence.Token{Scope: "sequencer:me", Epoch: epoch, Holder: "me", Term: fence.Term{byte(epoch)}}
}

// opened returns a Database that is closed when the test ends.
func opened(t testing.TB, cfg pg.Config) *pgstore.Database {
	t.Helper()
	d, err := pgstore.Open(t.Context(), cfg, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// begin starts a node under an epoch.
func begin(t testing.TB, d *pgstore.Database, epoch int64) *pgstore.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := d.Begin(ctx, token(epoch))
	if err != nil {
		t.Fatal(err)
	}
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

func memory() sequencer.Store { return sequencertest.NewMemory() }

// P28, P41: the store over Postgres keeps what every store promises.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, memory, func(t *testing.T) sequencer.Store { return begin(t, opened(t, pgtest.New(t).Config()), 1) })
}

// The suite behind a pooler that changes the backend after each transaction.
func TestStoreBehindPgBouncer(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, memory, func(t *testing.T) sequencer.Store {
		db := pgtest.New(t)
		bouncer := db.PgBouncer(t, pgtest.TransactionMode, "server_round_robin = 1")
		return begin(t, opened(t, pg.Config{URL: bouncer.URL(db.Name)}), 1)
	})
}
