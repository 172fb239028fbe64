package pgtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/conchhq/conch/internal/pg"
)

// Traps creates traps in the schema public of a database: for each function that the SQL in
// the files of some folders calls, and for each operator. A trap has the arguments of its
// model in pg_catalog; if that takes any type, it has concrete types, which fit better. New
// connections to the database get searchPath. sprung returns the last trap that was called,
// even if that transaction was rolled back, and "" if none was.
func Traps(t testing.TB, db *DB, searchPath string, folders ...string) (sprung func() string) {
	t.Helper()
	admin := db.Connect(t)
	for _, sql := range []string{trapTables, trapSQL} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := admin.Exec(t.Context(), `SELECT public.lay($1)`, called(t, folders)); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.Exec(t.Context(), fmt.Sprintf(`ALTER DATABASE %s SET search_path = %s`, db.Name, searchPath)); err != nil {
		t.Fatal(err)
	}
	return func() (what string) {
		t.Helper()
		err := admin.QueryRow(t.Context(), `SELECT coalesce((SELECT what FROM public.traps WHERE id = last_value), '') FROM public.sprung`).Scan(&what)
		if err != nil {
			t.Fatal(err)
		}
		return what
	}
}

// SpringsNoTrap lays traps for the SQL of the current folder and its migrations, as a role can that may create objects in public. All
// does everything that the SQL is for, and springs none, whatever the search_path; behind a pooler (wide), which keeps the path as
// it is, none under the default path. Then the probe, which a trap fits, shows that they were set.
func SpringsNoTrap(t *testing.T, probe string, all func(t *testing.T, db *DB, wide bool)) {
	t.Helper()
	for name, c := range map[string]struct {
		path string
		wide bool
	}{
		"default path": {`"$user", public`, false}, "public first": {"public, pg_catalog", false}, "behind a pooler": {`"$user", public`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := New(t)
			sprung := Traps(t, db, c.path, ".", "migrations")
			all(t, db, c.wide)
			if trap := sprung(); trap != "" {
				t.Errorf("the trap %s was sprung", trap)
			}
			if _, err := db.Connect(t).Exec(t.Context(), probe); pg.Code(err) != "P0001" || sprung() == "" {
				t.Fatalf("no trap is set: got error %v, want P0001", err)
			}
		})
	}
}

var call = regexp.MustCompile(`\b([a-z][a-z0-9_]*)\(`)

// called returns the names before a parenthesis, not only those of functions in Postgres.
func called(t testing.TB, folders []string) (names []string) {
	t.Helper()
	for _, folder := range folders {
		for _, kind := range []string{"*.go", "*.sql"} {
			files, err := filepath.Glob(filepath.Join(folder, kind))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for _, found := range call.FindAllStringSubmatch(string(text), -1) {
					names = append(names, found[1])
				}
			}
		}
	}
	if len(names) == 0 {
		t.Fatal("pgtest: no SQL was found to lay traps for")
	}
	return names
}

// trapTables has a sequence, since a rollback does not set a sequence back.
const trapTables = `
CREATE SEQUENCE public.sprung;
GRANT SELECT, UPDATE ON SEQUENCE public.sprung TO PUBLIC;
CREATE TABLE public.traps (id int PRIMARY KEY, what text NOT NULL)`

// trapSQL gives each trap the expected return type, or its caller would fail before the call.
const trapSQL = `
CREATE FUNCTION public.trap(name text, args text, answer text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n int := 2 + (SELECT count(*) FROM public.traps);
BEGIN
    EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS %s LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS %L',
        name, args, answer, format('BEGIN PERFORM setval(%L, %s); RAISE EXCEPTION %L; END', 'public.sprung', n, format('sprung: %s(%s)', name, args)));
    INSERT INTO public.traps VALUES (n, format('%s(%s)', name, args));
EXCEPTION WHEN duplicate_function THEN NULL;
END $$;
CREATE FUNCTION public.trap_aggregate(name text, args text, answer text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM public.trap('agg ' || name, answer || ', ' || args, answer);
    EXECUTE format('CREATE AGGREGATE public.%I(%s) (SFUNC = public.%I, STYPE = %s)', name, args, 'agg ' || name, answer);
EXCEPTION WHEN duplicate_function THEN NULL;
END $$;
CREATE FUNCTION public.trap_operator(op text, l text, r text) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text := format('op %s %s %s', l, op, r);
BEGIN
    PERFORM public.trap(name, l || ', ' || r, CASE
        WHEN op IN ('=', '<>', '<', '>', '<=', '>=', '@>', '&&') THEN 'bool' WHEN op = '->>' THEN 'text' WHEN r ~ '[]]' THEN r
        WHEN op = '||' AND l !~ '[]]' AND l NOT IN ('bytea', 'jsonb') THEN 'text' WHEN op = '-' AND l = 'timestamptz' AND l = r THEN 'interval' ELSE l END);
    EXECUTE format('CREATE OPERATOR public.%s (FUNCTION = public.%I, LEFTARG = %s, RIGHTARG = %s)', op, name, l, r);
EXCEPTION WHEN duplicate_function THEN NULL;
END $$;
-- of replaces each pseudo-type for any type by kind.
CREATE FUNCTION public.of(kind text, words text) RETURNS text LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT regexp_replace(regexp_replace(words, '\yany(compatible)?array\y', kind || '[]', 'g'), '"any"|\yany(compatible)?(nonarray|element)?\y', kind, 'g')
$$;
CREATE FUNCTION public.lay(names text[]) RETURNS void LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kinds  text[] := '{text,int8,int4,bool,uuid,bytea,numeric,timestamptz}';
    others text[] := '{oid,float8,interval,jsonb,name,"\"char\"",pg_lsn}';
BEGIN
    -- Functions with concrete types, and functions of any type with each of kinds.
    PERFORM CASE p.prokind WHEN 'a' THEN public.trap_aggregate(p.proname, a.args, a.answer) ELSE public.trap(p.proname, a.args, a.answer) END
       FROM pg_proc p, unnest(kinds) k,
            LATERAL (SELECT public.of(k, oidvectortypes(p.proargtypes)), public.of(k, format_type(p.prorettype, NULL))) a(args, answer)
      WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = ANY (names) AND p.prokind IN ('f', 'a')
        AND (p.pronargs > 0 OR p.prokind = 'f') AND p.prorettype <> 'record'::regtype AND NOT EXISTS (
            SELECT FROM unnest(p.proargtypes::oid[] || p.prorettype) a JOIN pg_type t ON t.oid = a
             WHERE t.typtype = 'p' AND t.typname NOT IN ('void', 'any') AND t.typname !~ '^any(compatible)?(array|element|nonarray)$');
    -- Functions with any number of arguments.
    PERFORM public.trap(p.name, array_to_string(array_fill(k, ARRAY[n]), ', '), p.answer)
       FROM (VALUES ('format', 'text'), ('concat', 'text'), ('concat_ws', 'text'), ('jsonb_build_object', 'jsonb'), ('json_build_object', 'json')) p(name, answer),
            unnest(kinds) k, generate_series(1, 8) n WHERE p.name = ANY (names);
    PERFORM public.trap(f.name, f.args, f.answer) FROM (VALUES ('jsonb_build_object', 'text, int4, text, text', 'jsonb'), ('format', 'text, text, int8', 'text'),
        ('format', 'text, int4, text', 'text'), ('format', 'text, int8', 'text'), ('format', 'text, int8, uuid', 'text')) f(name, args, answer);
    -- Operators between equal types, and between types that occur together.
    PERFORM public.trap_operator(o.op, p.l, p.r)
       FROM unnest('{=,<>,<,>,<=,>=,+,-,*,/,||,@>,&&,&,|,<<,>>,->,->>}'::text[]) o(op),
            (SELECT k, k FROM unnest(kinds || others) k UNION ALL SELECT k || '[]', k || '[]' FROM unnest(kinds) k
              UNION ALL SELECT k, k || '[]' FROM unnest(kinds) k UNION ALL SELECT k || '[]', k FROM unnest(kinds) k
              UNION ALL VALUES ('text', 'int8'), ('int8', 'text'), ('text', 'int4'), ('int4', 'text'), ('text', 'bool'), ('int8', 'int4'), ('int4', 'int8'),
                               ('numeric', 'int4'), ('numeric', 'int8'), ('float8', 'int4'), ('timestamptz', 'interval'), ('jsonb', 'text'), ('jsonb', 'int4')) p(l, r);
END $$`
