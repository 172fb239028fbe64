//go:build unix

package main_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// A message says what failed, names its key and gives a remedy. It does not mention the
// database, which is up.
func TestMessagesBlameWhatFailed(t *testing.T) {
	t.Parallel()
	db := migrated(t).URL
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	used := taken.Addr().String()
	const role = "[[roles]]\nname = \"a\"\n"
	for _, c := range []struct {
		name, text string
		args       string
		says       []string
	}{
		{"a port in use", fileOf(db, "listen = \""+used+"\"\n"+role), "", []string{used + " is in use", "ss -ltnp", "another address with listen in [node], or --listen"}},
		{"a port in use, by a flag", fileOf(db, role), "--listen " + used, []string{used + " is in use", "another address with listen in [node], or --listen"}},
		{"a port of probes in use", fileOf(db, "listen = \"off\"\nops_listen = \""+used+"\"\n"+role), "", []string{used + " is in use", "another address with ops_listen in [node], or --ops-listen"}},
		{"another's address", fileOf(db, "listen = \"off\"\nops_listen = \"192.0.2.1:1\"\n"+role), "", []string{"192.0.2.1:1 is no address of this machine", "another address with ops_listen in [node], or --ops-listen"}},
		{"a socket without a folder", fileOf(db, "listen = \"unix:DIR/none/s\"\n"+role), "", []string{"none/s", "its folder is missing", "another address with listen in [node], or --listen"}},
		{"a host that is none", fileOf(db, "listen = \"off\"\nops_listen = \"none.invalid:1\"\n"+role), "", []string{`no host "none.invalid"`, "ops_listen"}},
		{"data_dir", strings.Replace(fileOf(db, role), `"data"`, `"/dev/null/x"`, 1), "", []string{`data_dir = "/dev/null/x" cannot be used (not a directory)`, "name a folder"}},
		{"dir of files", fileOf(db, "[[files]]\nscope = \"f\"\ndir = \"/dev/null/x\"\n"), "", []string{`the dir of the files of "f" = "/dev/null/x" cannot be used`, "name a folder"}},
		{"dir of files that is somebody's", fileOf(db, "[[files]]\nscope = \"f\"\ndir = \"DIR\"\n"), "", []string{`the dir of the files of "f"`, "conch.toml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := prepareDaemon(t, "n1", db, "")
			d.write(c.text)
			r := conch(t, append([]string{"node", "--log-level", "error", "--config", d.file}, strings.Fields(c.args)...)...)
			r.refused(t, 1, c.says...)
			if strings.Contains(r.err, "database") || strings.Contains(r.err, "PostgreSQL") {
				t.Errorf("the message mentions the database: %s", r.err)
			}
		})
	}
	missing := filepath.Join(t.TempDir(), "none")
	r := conch(t, "run", "--db", db, "--scope", "s", "--", missing)
	if r.refused(t, 2, missing); strings.Contains(r.err, "database") {
		t.Errorf("the message mentions the database: %s", r.err)
	}
}
