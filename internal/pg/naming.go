package pg

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// namePatience limits the search for a name, which only improves an error message.
const namePatience = time.Second

const pgBouncer = "PgBouncer"

// PoolerName asks a pooler for its name, and returns "" if it does not answer. PgBouncer
// answers in its database pgbouncer, and refuses users who are not its administrators
// without the routine that Postgres puts into every error.
func PoolerName(ctx context.Context, c Config) string {
	parsed, err := c.Parse()
	if err != nil {
		return ""
	}
	return poolerName(ctx, parsed)
}

func poolerName(ctx context.Context, parsed *pgx.ConnConfig) string {
	ctx, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	parsed = parsed.Copy()
	parsed.Database = "pgbouncer"
	console, err := dial(ctx, parsed)
	if err != nil {
		if sent, is := errors.AsType[*pgconn.PgError](err); is && sent.Routine == "" && sent.Message == "not allowed" {
			return pgBouncer
		}
		return ""
	}
	defer leave(console.conn)
	results, err := console.conn.PgConn().Exec(ctx, "SHOW VERSION").ReadAll()
	if err != nil || len(results) == 0 || len(results[0].Rows) == 0 || len(results[0].Rows[0]) == 0 {
		return ""
	}
	if name := string(results[0].Rows[0][0]); strings.HasPrefix(name, pgBouncer+" ") {
		return name
	}
	return ""
}

// sharedError returns the refusal of a pool that certainly shares backends. Its queries
// only make the message more exact: the mode of the pool and its name.
func sharedError(ctx context.Context, client *Session) *PoolerError {
	refused := &PoolerError{Mode: PoolTransaction, Target: client.target}
	asking, cancel := context.WithTimeout(ctx, namePatience)
	defer cancel()
	var sent *pgconn.PgError
	_, err := client.conn.PgConn().Exec(asking, "BEGIN").ReadAll()
	switch {
	case err == nil: // end the transaction, or the pool discards the backend
		_, _ = client.conn.PgConn().Exec(asking, "ROLLBACK").ReadAll()
	case errors.As(err, &sent) && strings.Contains(sent.Message, "statement pooling mode"):
		refused.Mode, refused.Name = PoolStatement, pgBouncer
	}
	if name := poolerName(ctx, client.at); name != "" {
		refused.Name = name
	}
	return refused
}

func (s *Session) unsure(ctx context.Context, err error) *PoolerError {
	name := poolerName(context.WithoutCancel(ctx), s.at)
	return &PoolerError{Mode: PoolUnknown, Name: name, Target: s.target, Err: err}
}
