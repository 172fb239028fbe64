package pgstore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// standIn replaces the election's fence, whose schema this wing must not know. The tests of the binary use the real one.
const standIn = `
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
	BEGIN
	    IF epoch <> 1 THEN
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
