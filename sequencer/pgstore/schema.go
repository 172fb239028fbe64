package pgstore

import (
	"embed"

	"github.com/conchhq/conch/internal/pg/migrate"
)

//go:embed migrations/*.sql
var files embed.FS

// Tables are those of a node of the sequencer. They need the election's schema. Keys, results and states go with them: a known key is then a
// new intent, and the book begins anew.
var Tables = migrate.Tables{
	Wing: "sequencer", Files: migrate.Folder(files), Oldest: 1,
	Missing: "tables for a node of the sequencer", Present: "the tables of the sequencer are",
	Guard: migrate.Unfinished(`conch.sequencer_nodes, conch.sequencer_contracts, conch.sequencer_intents, conch.sequencer_dispatches`,
		`SELECT (SELECT count(*) FROM conch.sequencer_intents WHERE NOT ended), (SELECT count(*) FROM conch.sequencer_dispatches)`,
		"%d intents have not ended and %d dispatches are not decided: grants that have left could no longer be followed: let the node finish them first"),
}
