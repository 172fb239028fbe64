package pgrogue

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Queue reads a table in a transaction that stays open, and rewrites the table behind it: everybody
// who comes later waits for both, until Release.
func Queue(ctx context.Context, url, table string) (*Hog, error) {
	reader, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	h := &Hog{conn: reader}
	name := pgx.Identifier{"conch", table}.Sanitize()
	_, err = reader.Exec(ctx, `BEGIN; SELECT FROM `+name)
	var writer *pgx.Conn
	if err == nil {
		writer, err = pgx.Connect(ctx, url)
	}
	if err != nil {
		h.Release()
		return nil, err
	}
	h.behind.Go(func() {
		defer closeConn(writer)
		_, _ = writer.Exec(context.WithoutCancel(ctx), `VACUUM FULL `+name)
	})
	return h, nil
}
