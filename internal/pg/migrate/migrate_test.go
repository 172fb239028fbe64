package migrate_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func files(pairs ...string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		fsys[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return fsys
}

func set(files fs.FS) migrate.Tables { return migrate.Tables{Wing: "election", Files: files} }

func two() fstest.MapFS {
	return files(
		"0001_one.up.sql", "CREATE TABLE conch.one (n int); INSERT INTO conch.one VALUES (1)",
		"0001_one.down.sql", "DROP TABLE conch.one",
		"0002_two.up.sql", "CREATE TABLE conch.two (n int)",
		"0002_two.down.sql", "DROP TABLE conch.two",
	)
}

func version(t *testing.T, conn *pgx.Conn) int {
	t.Helper()
	v, err := set(nil).Version(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestUpStatusDown(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), pgtest.New(t).Connect(t)
	if v := version(t, conn); v != 0 {
		t.Fatalf("version %d without a schema, want 0", v)
	}
	var said []string
	say := func(line string) { said = append(said, line) }
	if err := set(two()).Up(ctx, conn, say); err != nil {
		t.Fatal(err)
	}
	if err := set(two()).Up(ctx, conn, say); err != nil { // none is missing
		t.Fatal(err)
	}
	list, err := set(two()).Status(ctx, conn)
	if err != nil || len(list) != 2 || list[1].Name != "two" || list[1].AppliedAt == nil {
		t.Fatalf("status %+v, %v", list, err)
	}
	if err := migrate.Down(ctx, conn, say, set(two())); err != nil {
		t.Fatal(err)
	}
	if v := version(t, conn); v != 0 {
		t.Fatalf("version %d after Down", v)
	}
	list, err = set(two()).Status(ctx, conn)
	if err != nil || list[0].AppliedAt != nil || list[1].AppliedAt != nil {
		t.Fatalf("status %+v, %v", list, err)
	}
	if got := strings.Join(said, ", "); got != "election: applied 0001_one, election: applied 0002_two, election: took back 0002_two, election: took back 0001_one" {
		t.Fatalf("the progress lines are %s", got)
	}
}

func TestConcurrentRunsAreHarmless(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var wg sync.WaitGroup
	faults := make([]error, 4)
	for i := range faults {
		conn := db.Connect(t)
		wg.Go(func() { faults[i] = set(two()).Up(t.Context(), conn, nil) })
	}
	pgtest.Within(t, time.Minute, "all are done", wg.Wait)
	if err := errors.Join(faults...); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := db.Connect(t).QueryRow(t.Context(), "SELECT count(*) FROM conch.one").Scan(&n); err != nil || n != 1 {
		t.Fatalf("the first migration ran %d times, want once (error %v)", n, err)
	}
}

func TestAFailureKeepsWhatCameBefore(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	broken := two()
	broken["0002_two.up.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE conch.two (n int); SELECT nonsense")}
	err := set(broken).Up(t.Context(), conn, nil)
	if err == nil || !strings.Contains(err.Error(), "0002_two") {
		t.Fatalf("Up returned %v, want an error that names 0002_two", err)
	}
	if v := version(t, conn); v != 1 {
		t.Fatalf("version %d after 0002 failed, want 1", v)
	}
	if err := set(two()).Up(t.Context(), conn, nil); err != nil { // nothing of 0002 is left
		t.Fatal(err)
	}
}

func TestAChangedFileIsDrift(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	if err := set(two()).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	changed := two()
	changed["0001_one.up.sql"] = &fstest.MapFile{Data: []byte("SELECT 1")}
	var drift *migrate.DriftError
	if err := set(changed).Up(t.Context(), conn, nil); !errors.As(err, &drift) || drift.Version != 1 {
		t.Fatalf("Up returned %v, want a *DriftError of version 1", err)
	}
	if _, err := set(changed).Status(t.Context(), conn); !errors.As(err, &drift) {
		t.Fatalf("Status returned %v, want a *DriftError", err)
	}
}

func TestTheGuardSeesTheSchemaAndCanRefuse(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	if err := set(two()).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	inUse := errors.New("in use")
	guard := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "LOCK TABLE conch.one")
		return errors.Join(err, inUse)
	}
	guarded := set(two())
	guarded.Guard = guard
	if err := migrate.Down(t.Context(), conn, nil, guarded); !errors.Is(err, inUse) {
		t.Fatalf("Down returned %v, want %v", err, inUse)
	}
	if v := version(t, conn); v != 2 {
		t.Fatalf("version %d after the guard refused, want 2", v)
	}
}

// Schema N works with programs N and N − 1: Up of the older program accepts it.
func TestAnOlderProgramToleratesANewerSchema(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	if err := set(two()).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	older := two()
	delete(older, "0002_two.up.sql")
	delete(older, "0002_two.down.sql")
	if err := set(older).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
	list, err := set(older).Status(t.Context(), conn)
	if err != nil || len(list) != 2 || list[1].Name != "two" {
		t.Fatalf("status %+v, %v", list, err)
	}
	if err := migrate.Down(t.Context(), conn, nil, set(older)); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Fatalf("Down of the older program returned %v, want an error about a newer one", err)
	}
}

// S29: a role that may not create schemas can migrate in one that was made for it.
func TestMigratesWithoutTheRightToCreateSchemas(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	_, err := conn.Exec(t.Context(), `CREATE ROLE migrator_s29; CREATE SCHEMA conch AUTHORIZATION migrator_s29; SET ROLE migrator_s29`)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a role belongs to the server, not to the database
		_, _ = conn.Exec(context.Background(), `RESET ROLE; DROP SCHEMA conch CASCADE; DROP ROLE migrator_s29`)
	})
	if err := set(two()).Up(t.Context(), conn, nil); err != nil {
		t.Fatal(err)
	}
}

func TestBadFilesAreRefused(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	for want, fsys := range map[string]fstest.MapFS{
		"no migration":      files("one.sql", ""),
		"0001 is missing":   files("0002_two.up.sql", "SELECT 1"),
		"two names":         files("0001_one.up.sql", "SELECT 1", "0001_uno.down.sql", "SELECT 1"),
		"one has no way up": files("0001_one.down.sql", "SELECT 1"),
	} {
		if err := set(fsys).Up(t.Context(), conn, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// Two wings use the same version numbers and do not affect each other.
func TestWings(t *testing.T) {
	t.Parallel()
	conn := pgtest.New(t).Connect(t)
	other := migrate.Tables{Wing: "other", Files: fstest.MapFS{
		"0001_thing.up.sql":   {Data: []byte(`CREATE TABLE conch.thing (a int)`)},
		"0001_thing.down.sql": {Data: []byte(`DROP TABLE conch.thing`)},
	}}
	for _, one := range []migrate.Tables{set(two()), other} {
		if err := one.Up(t.Context(), conn, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Down takes back all or none: a failure in one wing keeps the other.
	broken := two()
	broken["0001_one.down.sql"] = &fstest.MapFile{Data: []byte(`SELECT nonsense`)}
	if err := migrate.Down(t.Context(), conn, nil, other, set(broken)); err == nil || !strings.Contains(err.Error(), "0001_one") {
		t.Errorf("Down returned %v, want an error that names 0001_one", err)
	}
	if v, err := other.Version(t.Context(), conn); v != 1 || err != nil {
		t.Errorf("after a Down that failed the wing is at version %d, want 1 (error %v)", v, err)
	}
	if err := migrate.Down(t.Context(), conn, nil, other); err != nil {
		t.Fatal(err)
	}
	if v, err := set(nil).Version(t.Context(), conn); v != 2 || err != nil {
		t.Errorf("after Down of the wing the election is at version %d, want 2 (error %v)", v, err)
	}
	if v, err := other.Version(t.Context(), conn); v != 0 || err != nil {
		t.Errorf("after Down the wing is at version %d, want 0 (error %v)", v, err)
	}
}

// A name without a schema means pg_catalog's in a migration, whatever the search_path is.
func TestMigrationsMeanPgCatalog(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), pgtest.New(t).Connect(t)
	const path = "evil, pg_catalog"
	for _, sql := range []string{
		`CREATE SCHEMA evil`, `CREATE DOMAIN evil.text AS int`,
		`CREATE FUNCTION evil.cardinality(text[]) RETURNS int LANGUAGE sql AS 'SELECT 0'`, `SET search_path = ` + path,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	err := set(files("0001_one.up.sql",
		`CREATE TABLE conch.one (words text[]); CREATE FUNCTION conch.count(words text[]) RETURNS int LANGUAGE sql RETURN cardinality(words)`)).Up(ctx, conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	var now string
	var n int
	if err := conn.QueryRow(ctx, `SHOW search_path`).Scan(&now); err != nil || now != path {
		t.Errorf("the search_path is %q, want %q (error %v)", now, path, err)
	}
	if err := conn.QueryRow(ctx, `SELECT conch.count('{a,b}')`).Scan(&n); err != nil || n != 2 {
		t.Errorf("conch.count returned %d, want 2 (error %v)", n, err)
	}
}
