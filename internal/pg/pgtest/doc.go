// Package pgtest gives each test its own PostgreSQL database on a real, private server.
// The first test that needs a database starts the server of the test binary, and Main
// stops it; each database is copied from a template.
//
//	func TestMain(m *testing.M) {
//		pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error { … migrate … })
//		pgtest.Main(m)
//	}
//
//	func TestSomething(t *testing.T) {
//		t.Parallel()
//		db := pgtest.New(t)
//		conn := db.Connect(t)
//		…
//	}
//
// Main also runs goleak, so a test binary fails if it leaves a goroutine running. Tests
// that restart or kill the server start their own with Own. Without server programs on
// the machine tests fail and are not skipped: a skipped proof looks like a proof.
package pgtest
