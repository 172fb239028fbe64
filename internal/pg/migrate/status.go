package migrate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Applied is one migration and when it was applied, nil if it was not.
type Applied struct {
	Version   int
	Name      string
	AppliedAt *time.Time
}

// Status lists every migration of the files, and those of a newer program that
// are applied.
func Status(ctx context.Context, conn *pgx.Conn, set Set) ([]Applied, error) {
	steps, err := load(set.Files)
	if err != nil {
		return nil, err
	}
	applied, err := records(ctx, conn, set)
	if err != nil {
		return nil, err
	}
	if err := checked(steps, applied); err != nil {
		return nil, err
	}
	list := make([]Applied, len(steps), len(steps)+len(applied))
	for i, one := range steps {
		list[i] = Applied{Version: one.version, Name: one.name}
	}
	for _, done := range applied {
		at := done.AppliedAt
		if done.Version <= len(steps) {
			list[done.Version-1].AppliedAt = &at
			continue
		}
		list = append(list, Applied{Version: done.Version, Name: done.Name, AppliedAt: &at})
	}
	return list, nil
}

// Version is the highest migration applied, 0 where there is no schema. It needs no files.
func Version(ctx context.Context, conn *pgx.Conn, set Set) (int, error) {
	applied, err := records(ctx, conn, set)
	if err != nil || len(applied) == 0 {
		return 0, err
	}
	return applied[len(applied)-1].Version, nil
}
