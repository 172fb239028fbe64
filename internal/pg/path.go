package pg

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// SearchPath is the search_path of conch's connections, so that a name without a schema means
// pg_catalog's. Otherwise Postgres prefers a function in public that fits the arguments
// exactly to one in pg_catalog of any type, and up to Postgres 14 every user may create one.
const SearchPath = "pg_catalog, pg_temp"

// hearing is the client_min_messages of the same connections. Only a WARNING tells of a
// commit that no standby has confirmed, and a role may be set to receive none.
const hearing = "warning"

// common are the settings of every connection of conch, whatever a role or a database is set to, as
// SQL. With row_security off, rows that a policy would hide are an error: no leadership would seem to
// exist otherwise.
var common = [][2]string{
	{"search_path", "'" + SearchPath + "'"},
	{"client_min_messages", "'" + hearing + "'"},
	{"row_security", "'off'"},
	{"default_transaction_isolation", "'read committed'"},
	{"standard_conforming_strings", "'on'"}, // else pgx sends no value within a text
	{"datestyle", "'ISO'"},                  // else a time that comes as text is not read
	{"jit", "'off'"},                        // to compile a statement takes longer than any of conch's
}

// Limits end the statements of a plain connection; zero leaves what the role or the database has.
type Limits struct{ Lock, Statement time.Duration }

// Plain are the limits of a connection for work that a person waits for.
var Plain = Limits{Lock: 3 * time.Second, Statement: 30 * time.Second}

// Narrow makes the settings of a connection if the answer comes from the backend that was
// announced at its start, and reports whether it does. Otherwise a pooler is in between, and
// the settings might stay on a backend that serves other clients.
func Narrow(ctx context.Context, conn *pgx.Conn, limits Limits) (direct bool, err error) {
	told := conn.PgConn().PID()
	results, err := conn.PgConn().Exec(ctx, narrowSQL(told, limits)).ReadAll()
	if err != nil {
		return false, err
	}
	row, err := onlyRow(results, 1)
	return err == nil && string(row[0]) == "t", err
}

func narrowSQL(backend uint32, limits Limits) string {
	var sql strings.Builder
	fmt.Fprintf(&sql, "SELECT pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) %d", backend)
	for _, one := range common {
		put(&sql, backend, one[0], one[1])
	}
	for name, d := range map[string]time.Duration{"lock_timeout": limits.Lock, "statement_timeout": limits.Statement} {
		if d > 0 {
			put(&sql, backend, name, fmt.Sprintf("'%d'", atLeastOneMS(d)))
		}
	}
	return sql.String()
}
