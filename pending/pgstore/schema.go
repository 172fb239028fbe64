package pgstore

import (
	"embed"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Tables are those of pending transactions. They need the election's schema. Their idempotency keys go with them: a known key is then a new
// intent. So they are not removed while work is unfinished; the counts of that believe no floor.
var Tables = migrate.Tables{
	Wing: "pending", Files: migrate.Folder(files), Oldest: 1,
	Missing: "tables for pending transactions", Present: "the tables of pending transactions are",
	Guard: migrate.Unfinished(`conch.pending_accounts, conch.pending_transactions, conch.intents`, `
		SELECT (SELECT count(*) FROM conch.pending_transactions WHERE NOT final),
		       (SELECT count(*) FROM conch.intents WHERE waits OR put_off)`,
		"%d transactions are not final and %d accepted intents have none yet: they would be lost, and what was sent could no longer be followed: let a node finish them first, or cancel those that wait"),
}
