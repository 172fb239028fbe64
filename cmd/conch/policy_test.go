package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// A policy is written, listed with what is left, shown as it is set, and deleted; one with a fault is refused whole.
func TestPolicies(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	policy := func(args ...string) result {
		t.Helper()
		return conch(t, append([]string{"--db", db.URL, "policy"}, args...)...)
	}
	const file = "testdata/policy.json"
	if said := policy("set", file).done(t); said != "payout on evm:1337: the policy counts from now on, on all nodes; not limited: fee_a_day, count_a_minute\n" {
		t.Errorf("set says %q", said)
	}
	if said := policy("list").done(t); !strings.Contains(said, "payout   evm:1337   -     value_a_day   2500   0       2500\n") {
		t.Errorf("list says %q", said)
	}
	var one struct {
		Token, Chain string
		Limits       []struct{ Name, Most, Spent, Left string }
	}
	if err := json.Unmarshal([]byte(policy("list", "--json").done(t)), &one); err != nil || one.Token != "payout" || one.Chain != "evm:1337" || len(one.Limits) != 1 || one.Limits[0].Left != "2500" {
		t.Errorf("list --json says %+v, %v", one, err)
	}
	shown := policy("show", "payout").done(t)
	copied := filepath.Join(t.TempDir(), "copy.json")
	if err := os.WriteFile(copied, []byte(strings.Replace(shown, "evm:1337", "evm:10", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if said := policy("set", copied, "--json").done(t); said != strings.Replace(shown, "evm:1337", "evm:10", 1) {
		t.Errorf("what show has printed is set as %q, want %q", said, shown)
	}
	policy("show", "payout").refused(t, 2, "--chain")
	policy("delete", "payout", "--chain", "evm:137").refused(t, 1, "no such policy")
	policy("delete", "payout", "--chain", "evm:10").done(t)
	if said := policy("delete", "payout").done(t); !strings.Contains(said, "payout on evm:1337") {
		t.Errorf("delete says %q", said)
	}
	if said := policy("list").done(t); strings.Contains(said, "payout") {
		t.Errorf("after the deletion list says %q", said)
	}
	pgtest.Exec(t, db.Connect(t), `BEGIN; LOCK TABLE conch.pending_policies`)
	policy("list").refused(t, 1, "tables of conch are locked, so this waited in vain: pid ") // no command waits for ever, nor for nobody
	wrong := filepath.Join(t.TempDir(), "wrong.json")
	if err := os.WriteFile(wrong, []byte(`{"token": "a", "chain": "main", "accounts": ["any"], "receivers": [{"to": "0x1"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	policy("set", wrong).refused(t, 1, "chain is", "receivers[0].to")
	policy("set", "nothing.json").refused(t, 1, "nothing.json")
}
