// Package migrate brings the tables of a wing in the schema conch to a version and back.
//
// Migrations are files 0001_name.up.sql and 0001_name.down.sql, numbered from 1 without
// a gap. Each wing has its own set and its own table, for the election
// conch.schema_version. The table records the applied migrations and their checksums: a
// file that changed after it was applied is an error.
//
// Two runs at once are harmless. Each transaction first takes an advisory lock that
// ends with the transaction, and only then reads which migrations are missing, so the
// second run finds the work of the first. It needs no session lock, so it also works
// through a pooler in transaction mode.
//
// Up uses one transaction per migration: a failure keeps the migrations before it.
// Down uses a single one: its guard has checked whether the schema is in use, and that
// answer must hold until the last table is gone.
//
// Until the first release each wing but the election has one migration, which is changed in place: the tables of an earlier day are then
// drift, and are made anew.
//
// The schema and the table are created only if they are missing, so a role that may not
// create schemas can migrate in one that was made for it (S29).
//
// # Add a migration
//
//  1. NNNN_name.up.sql and NNNN_name.down.sql in the migrations folder of election/pgmint, pending/pgstore,
//     schedule/pgstore, sequencer/pgstore or txlog/pgstore, with the next number. A released migration is never edited.
//  2. Schema N works with binaries N and N − 1: so a migration may add, and must not remove or rename what the binary before it
//     uses. The program that cannot do without it raises Oldest in schema.go.
//  3. Qualify every name, and give every function a search_path: TestNoTrapIsSprung lays a trap for each that is not.
//  4. A new table or function is granted to no one. Add it to deploy/grants.sql and to privilegesSQL in package pgfacts; TestGrants,
//     TestGrantsOnPendingTransactions and TestDoctorUnderTheGrants work with these grants and no others. A new SQLSTATE gets a
//     row in docs/operations.md.
//  5. A way down removes what its way up made, and nothing that holds epochs.
package migrate
