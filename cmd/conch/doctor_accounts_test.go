//go:build unix

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Doctor's findings on chains and accounts: first all well, then all wrong; and no secret shown.
func TestDoctorLooksAtAccounts(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	d := prepareDaemon(t, "n1", db.URL, "")
	look := func(url string) ([]finding, string) {
		d.write(fileOf(db.URL, accountAt(d, url, 1337, "")))
		r := conch(t, "doctor", "--config", d.file, "--json")
		tellsNoSecret(t, r.out+r.err)
		return decode[[]finding](t, r.out), r.err
	}
	found, _ := look(chain.url)
	for _, check := range []string{"reachable", "chains", "keys", "funds", "claims"} {
		if f := judged(found, check); f.Status != "ok" {
			t.Errorf("the finding is %+v, want ok", f)
		}
	}
	if _, err := openBooks(t, db.URL).conn.Exec(t.Context(), `SELECT conch.pending_claim('evm:1337', decode($1, 'hex'), 'theirs', 1, 1)`, strings.TrimPrefix(fundedAddress, "0x")); err != nil {
		t.Fatal(err)
	}
	found, said := look("http://127.0.0.1:1/HIDDEN")
	for check, says := range map[string]string{"chains": "does not answer", "claims": `"theirs"`} {
		if f := judged(found, check); f.Status != "fail" || !strings.Contains(f.Detail, says) || f.Remedy == "" || strings.Contains(f.Detail, "HIDDEN") {
			t.Errorf("the finding is %+v, want fail with %s, a remedy and no HIDDEN", f, says)
		}
	}
	if !strings.Contains(said, "chains") {
		t.Errorf("stderr is %q, want it to name chains", said)
	}
	d.write(fileOf(db.URL, accountAt(d, chain.url, 1, "")))
	if err := os.WriteFile(filepath.Join(d.dir, "password"), []byte("another\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	found = decode[[]finding](t, conch(t, "doctor", "--config", d.file, "--json").out)
	if f := judged(found, "chains"); f.Status != "fail" || !strings.Contains(f.Remedy, "chain_id") {
		t.Errorf("the finding is %+v, want fail with chain_id in the remedy", f)
	}
	if f := judged(found, "keys"); f.Status != "fail" || !strings.Contains(f.Detail, "does not open") {
		t.Errorf("the finding is %+v, want fail: the password does not open the key", f)
	}
}
