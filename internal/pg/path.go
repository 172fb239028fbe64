package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SearchPath is the search_path of all connections on which conch runs statements. Its
// statements and functions name the schema of whatever is conch's own, and mean
// pg_catalog with all else. Under another path they could be given something else: a
// function in public that fits its arguments exactly is taken rather than one of
// pg_catalog that takes any type, and up to Postgres 14 everybody may create one there.
const SearchPath = "pg_catalog, pg_temp"

// hearing is the client_min_messages of the same connections: a WARNING is all that tells
// of a commit that no standby has confirmed, and a role can be set not to be sent any.
const hearing = "warning"

// Narrow sets the search_path of a connection, and which messages it is sent, if the backend
// that answers is the one announced at its start, and says whether it is. Otherwise a pooler
// is in between, and the settings might stay on a backend that serves others.
func Narrow(ctx context.Context, conn *pgx.Conn) (direct bool, err error) {
	told := conn.PgConn().PID()
	results, err := conn.PgConn().Exec(ctx, narrowSQL(told)).ReadAll()
	if err != nil {
		return false, err
	}
	row, err := onlyRow(results, 1)
	return err == nil && string(row[0]) == "t", err
}

// narrowSQL says the schema of each name itself, since it runs before the path is set.
func narrowSQL(backend uint32) string {
	is := fmt.Sprintf("pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d", backend)
	return fmt.Sprintf("SELECT %s, CASE WHEN %s THEN pg_catalog.set_config('search_path', '%s', false) END, "+
		"CASE WHEN %s THEN pg_catalog.set_config('client_min_messages', '%s', false) END", is, is, SearchPath, is, hearing)
}
