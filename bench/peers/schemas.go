//go:build linux

package main

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// schemas returns functions that create the tables of peers that do not create their own.
func schemas() map[string]func(context.Context, *pgxpool.Pool) error {
	return map[string]func(context.Context, *pgxpool.Pool) error{
		"river": func(ctx context.Context, pool *pgxpool.Pool) error {
			migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
			if err == nil {
				_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
			}
			return err
		},
		"client-go": func(ctx context.Context, pool *pgxpool.Pool) error {
			_, err := pool.Exec(ctx, `CREATE TABLE kube_lock (name text PRIMARY KEY, record jsonb NOT NULL, version bigint NOT NULL)`)
			return err
		},
	}
}
