//go:build unix

package main_test

import (
	"slices"
	"testing"
)

const (
	// nobodys is the URL of a database that does not exist: nothing listens there.
	nobodys = "postgres://conch@127.0.0.1:1/app"
	// nameless has peers and no instance_id, which the command line gives.
	nameless = "[[files]]\nscope = \"data\"\ndir = \"files\"\npeers = { n1 = \"http://127.0.0.1:1\", n2 = \"http://127.0.0.1:2\" }\n"
)

// config check and doctor accept the flags that a node gets: a file for all nodes, with each
// node's name on the command line, has no fault.
func TestAFileIsCheckedAsItsNodeIsStarted(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", nobodys, nameless)
	conch(t, "config", "check", "--config", d.file, "--id", d.id).done(t)
	for _, flags := range [][]string{nil, {"--id", "a:b"}, {"--id", d.id, "--listen", "0.0.0.0:7070"}, {"--id", d.id, "--ops-listen", "nowhere"}} {
		if r := conch(t, append([]string{"config", "check", "--config", d.file}, flags...)...); r.code != 2 || r.out == "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 2 and faults", flags, r.code, r.out, r.err)
		}
	}
	r := conch(t, "doctor", "--config", d.file, "--id", d.id, "--json")
	if f := judged(decode[[]finding](t, r.out), "reachable"); r.code != 1 || f.Status != "fail" {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 1 and a failed reachable", r.code, r.out, r.err)
	}
	conch(t, "doctor", "--config", d.file).refused(t, 2, "files[0].peers", "--id")
	conch(t, "doctor", "--id", d.id).refused(t, 2, "--id", "--config")
}

// Doctor asks no database for a standalone node, even if one answers at the usual place.
func TestDoctorAsksNoDatabaseOfAStandaloneNode(t *testing.T) {
	t.Parallel()
	d := prepareDaemon(t, "n1", "", "")
	d.write("[node]\nstandalone = true\nlisten = \"off\"\n[[roles]]\nname = \"a\"\n")
	found := decode[[]finding](t, conch(t, "doctor", "--config", d.file, "--json").done(t))
	var checks []string
	for _, f := range found {
		checks = append(checks, f.Check)
	}
	if !slices.Equal(checks, []string{"reachable"}) {
		t.Errorf("doctor checks %v, want reachable alone: nothing else is configured", checks)
	}
	d.write("[node]\nstandalone = true\nlisten = \"off\"\n[[roles]]\nname = \"a\"\n[database]\nurl = \"" + nobodys + "\"\n")
	conch(t, "doctor", "--config", d.file).refused(t, 2, "standalone")
}
