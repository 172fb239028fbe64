package pgtest

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/conchhq/conch/internal/pg/pgpool"
)

// Widen makes the connections of pools keep the search_path that they find, as behind a pooler.
func Widen(ctx context.Context, pools *pgpool.Pools) error {
	for _, pool := range []**pgxpool.Pool{&pools.Writers, &pools.Readers} {
		settings := (*pool).Config()
		settings.AfterConnect = nil
		wide, err := pgxpool.NewWithConfig(ctx, settings)
		if err != nil {
			return err
		}
		(*pool).Close()
		*pool = wide
	}
	return nil
}
