// Package migrate brings the schema conch to a version and back.
//
// Migrations are files 0001_name.up.sql and 0001_name.down.sql, numbered from 1
// without a gap. Each wing has a set of its own with a table of its own, the election
// conch.schema_version, that says which are applied and with
// what checksum: a file that changed after it was applied is an error, since
// nobody could say any more what the schema looks like.
//
// Two runs at once are harmless. Each transaction first takes an advisory lock
// that ends with it and only then reads what is left to do, so the second run
// finds the work of the first. No lock of the session is needed, so it also works
// through a pooler in transaction mode.
//
// Up makes one transaction per migration: a failure keeps what came before it.
// Down makes a single one: its guard has looked whether the schema is in use, and
// that answer must hold until the last table is gone.
//
// The schema and the table are made only where they are missing, so a role that
// may not create schemas can migrate in one that was made for it (S29).
package migrate
