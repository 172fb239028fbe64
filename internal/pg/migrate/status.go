package migrate

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Applied is one migration in the list of [Tables.Status].
type Applied struct {
	Version   int        `json:"version"`
	Name      string     `json:"name"`
	AppliedAt *time.Time `json:"applied_at"` // nil if it is not applied
}

// Status lists every migration of the files, and every applied one of a newer program.
func (t Tables) Status(ctx context.Context, conn *pgx.Conn) ([]Applied, error) {
	steps, err := load(t.Files)
	if err != nil {
		return nil, err
	}
	applied, err := t.records(ctx, conn)
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

// Version returns the highest applied migration, 0 without a schema. It takes a pool too.
func (t Tables) Version(ctx context.Context, q querier) (int, error) {
	applied, err := t.records(ctx, q)
	if err != nil || len(applied) == 0 {
		return 0, err
	}
	return applied[len(applied)-1].Version, nil
}
