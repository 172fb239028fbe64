package pgrogue

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Mute keeps conch from sending notifications, or lets it again, as its triggers do while the server's
// queue is half full.
func Mute(ctx context.Context, url string, mute bool) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer closeConn(conn)
	verb := "ENABLE"
	if mute {
		verb = "DISABLE"
	}
	_, err = conn.Exec(ctx, `ALTER TABLE conch.leadership `+verb+` TRIGGER announce; ALTER TABLE conch.command `+verb+` TRIGGER announce_command`)
	return err
}
