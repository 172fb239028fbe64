// Package pgtest gives each test a PostgreSQL database of its own on a real,
// private server: one server per test binary, started by the first test that asks
// and stopped by Main; one database per test, copied from a template.
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
// Main also runs goleak, so a test binary fails if anything it started still
// runs. Tests that restart or kill the server take one of their own with Own.
// Without server programs on the machine tests fail, they are never skipped: a
// skipped proof looks like a proof.
package pgtest
