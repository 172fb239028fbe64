package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

type finding struct{ Check, Status, Detail, Remedy string }

// examined runs doctor and checks that its exit code fits the findings.
func examined(t *testing.T, address string) []finding {
	t.Helper()
	r := conch(t, "--db", address, "doctor", "--json")
	found := decode[[]finding](t, r.out)
	failed := slices.ContainsFunc(found, func(f finding) bool { return f.Status == "fail" })
	if failed != (r.code == 1) || failed != (r.err != "") || r.code > 1 {
		t.Errorf("exit code %d, stderr %q with the findings %+v; want 1 and a message only if one failed", r.code, r.err, found)
	}
	return found
}

func judged(found []finding, check string) finding {
	for _, f := range found {
		if f.Check == check {
			return f
		}
	}
	return finding{}
}

// S29: deploy/grants.sql grants a node what doctor asks for.
func TestDoctorUnderTheGrants(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	c := pgtest.Granted(t, db)
	fencer := c.As(t, c.Fence)
	leader(t, db, "payments", "one")
	for address, status := range map[string]string{db.URL: "ok", c.As(t, c.Node): "ok", c.As(t, c.Observer): "warn", fencer: "fail"} {
		found := examined(t, address)
		if f := judged(found, "privileges"); f.Status != status {
			t.Errorf("the finding is %+v, want %s", f, status)
		}
		if f := judged(found, "holders"); address != fencer && (f.Status != "ok" || !strings.Contains(f.Detail, "1 of 1")) {
			t.Errorf("the finding is %+v, want ok with 1 of 1", f)
		}
	}
}

func TestDoctorForPeople(t *testing.T) {
	t.Parallel()
	db := pgtest.Empty(t, "UTF8")
	r := conch(t, "--db", db.URL, "doctor")
	for _, part := range []string{"STATUS", "CHECK", "ok", "reachable", "fail", "schema", "→ run `conch migrate up`"} {
		if !strings.Contains(r.out, part) {
			t.Errorf("the table does not show %q:\n%s", part, r.out)
		}
	}
	if r.code != 1 || !strings.Contains(r.err, "must be mended") || !strings.Contains(r.err, "schema") {
		t.Errorf("exit code %d, stderr %q; want 1 and the schema that must be mended", r.code, r.err)
	}
	found := examined(t, "postgres://conch:hunter2@127.0.0.1:1/app")
	if f := judged(found, "reachable"); f.Status != "fail" || strings.Contains(fmt.Sprint(found), "hunter2") {
		t.Errorf("the findings are %+v, want a failed reachable, without the password", found)
	}
	conch(t, "doctor", "extra").refused(t, 2, "takes no argument")
}
