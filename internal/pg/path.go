package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SearchPath is the search_path of conch's connections, so that a name without a schema means
// pg_catalog's. Otherwise Postgres prefers a function in public that fits the arguments
// exactly to one in pg_catalog of any type, and up to Postgres 14 every user may create one.
const SearchPath = "pg_catalog, pg_temp"

// hearing is the client_min_messages of the same connections. Only a WARNING tells of a
// commit that no standby has confirmed, and a role may be set to receive none.
const hearing = "warning"

// Narrow sets search_path, client_min_messages and jit of a connection if the answer comes from
// the backend that was announced at its start, and reports whether it does. Otherwise a
// pooler is in between, and the settings might stay on a backend that serves other clients.
func Narrow(ctx context.Context, conn *pgx.Conn) (direct bool, err error) {
	told := conn.PgConn().PID()
	results, err := conn.PgConn().Exec(ctx, narrowSQL(told)).ReadAll()
	if err != nil {
		return false, err
	}
	row, err := onlyRow(results, 1)
	return err == nil && string(row[0]) == "t", err
}

func narrowSQL(backend uint32) string {
	is := fmt.Sprintf("pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d", backend)
	return fmt.Sprintf("SELECT %s, CASE WHEN %s THEN pg_catalog.set_config('search_path', '%s', false) END, "+
		"CASE WHEN %s THEN pg_catalog.set_config('client_min_messages', '%s', false) END, "+
		"CASE WHEN %s THEN pg_catalog.set_config('jit', 'off', false) END", is, is, SearchPath, is, hearing, is)
}
