//go:build unix

package transactions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
	"github.com/conchhq/conch/pending/pgstore"
)

// cast does what a node does, under its role of deploy/grants.sql.
type cast struct{ pgtest.Cast }

func granted(t *testing.T) cast {
	t.Helper()
	return cast{pgtest.Granted(t, pgtest.New(t))}
}

const grantedChain, grantedAccount = "evm:1", chain.Account("an account of 20 byt")

// operations uses the store as a node does, under the role node, and returns the errors by name.
func (c cast) operations(t *testing.T, token fence.Token, account chain.Account) map[string]error {
	t.Helper()
	failed := map[string]error{}
	try := func(name string, err error) {
		if err != nil {
			failed[name] = err
		}
	}
	ctx := t.Context()
	db, err := pgstore.Open(ctx, pg.Config{URL: c.As(t, c.Node)}, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	store := db.Store(grantedChain, "test")
	try("check", db.Check(ctx))
	intent := pending.Intent{Account: account, Key: "k", Call: chain.Call{Value: big.NewInt(1)}}
	in, err := store.Accept(ctx, intent)
	try("accept", err)
	intent.Key = "l"
	other, err := store.Accept(ctx, intent)
	try("accept", err)
	intent.Key = "m"
	_, err = store.AcceptWithin(ctx, intent, pgstore.Reservation{Token: "t"})
	if errors.Is(err, pgstore.ErrPolicyChanged) {
		err = nil // there is none, as the database says
	}
	try("reserve", err)
	if _, err = db.Policy(ctx, "t", grantedChain); !errors.Is(err, pgstore.ErrNoPolicy) {
		try("policy", err)
	}
	if _, err = db.PolicyWithSpent(ctx, "t", grantedChain); !errors.Is(err, pgstore.ErrNoPolicy) {
		try("spent", err)
	}
	_, err = db.ClearSpent(ctx, time.Hour, 1)
	try("clear", err)
	_, err = store.Queue(ctx, account, true, 1)
	try("queue", err)
	try("cancel", store.Cancel(ctx, other.ID))
	_, err = store.Load(ctx, account, 0, 100)
	try("load", err)
	_, err = store.Slots(ctx, account, 0, 1)
	try("slots", err)
	attempt := func(n byte) chain.Signed {
		return chain.Signed{Account: account, Hash: chain.Hash(string(account[:4]) + string(n)), Bytes: []byte{n}}
	}
	try("settle", store.Settle(ctx, token, account, 0))
	try("claim", store.Write(ctx, token, pending.Batch{Account: account}))
	try("assign", store.Write(ctx, token, pending.Batch{Account: account, New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{attempt(1)}}}}))
	try("raise", store.Write(ctx, token, pending.Batch{Account: account, Attempts: []pending.Slot{{Before: 1, Attempts: []chain.Signed{attempt(2)}}}}))
	try("change", store.Write(ctx, token, pending.Batch{Account: account, Changes: []pending.Change{{Status: pending.Finalized, Hash: attempt(2).Hash, Intent: pending.Done}}}))
	hold := pending.Batch{Account: account, Number: 1, Hold: &pending.Hold{Intent: in.ID, Why: "it waits"}}
	try("hold", store.Write(ctx, token, hold))
	try("put off", store.Write(ctx, token, pending.Batch{Account: account, Held: []pending.Held{{Intent: other.ID, Refusal: pending.Refusal{Times: 1}}}}))
	try("reject", store.Write(ctx, token, pending.Batch{Account: account, Rejects: []pending.Hold{{Intent: other.ID, Why: "no"}}}))
	try("expire", store.Write(ctx, token, pending.Batch{Account: account, Expired: []pending.ID{other.ID}}))
	for range 2 { // the first time there is no row
		try("a person's word", store.SayOver(ctx, account, 0))
	}
	try("live", store.Write(ctx, token, pending.Batch{Account: account, Opens: &pending.Life{Number: 1, First: 9}}))
	_, err = store.Life(ctx, account)
	try("life", err)
	_, err = store.Get(ctx, in.ID)
	try("get", err)
	_, err = store.Attempts(ctx, account, 0)
	try("attempts", err)
	_, err = store.Backlog(ctx, account)
	try("backlog", err)
	_, err = store.Unfinished(ctx, account, space, nil)
	try("unfinished", err)
	conn := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Observer)})
	_, err = store.Archive(ctx, token, account, 0, 1)
	try("archive", err)
	_, err = store.Forget(ctx, account, 0, 1)
	try("forget", err)
	_, err = store.List(ctx, pending.Filter{Hash: "h", Most: 1})
	try("by hash", err)
	_, err = db.Tail(0).Next(ctx, 1)
	try("events", err)
	_, err = db.TrimEvents(ctx, time.Hour, 1)
	try("trim", err)
	try("stuck", db.TellStuck(ctx, pgstore.Account{Chain: grantedChain, Account: account}, 0, 1))
	c.tells(ctx, db, token, in.ID, try)
	for _, table := range []string{"intents", "pending_transactions", "pending_accounts", "pending_holds", "pending_lives", "pending_events", "hooks", "hook_waits", "pending_schema_version", "pending_policies", "pending_spent", "pending_returned", "archived_intents", "archived_transactions"} {
		_, err := conn.Exec(ctx, `SELECT FROM conch.`+table)
		try("observe "+table, err)
	}
	_ = conn.Close(ctx)
	return failed
}

// tells has a receiver told of an event.
func (c cast) tells(ctx context.Context, db *pgstore.Database, token fence.Token, id pending.ID, try func(string, error)) {
	receiver := db.Hook("shop "+idText(id), token)
	_, _, err := receiver.Open(ctx)
	try("open a hook", err)
	if err != nil {
		return
	}
	park := hook.Park{Again: hook.Again{ID: 1, Tries: 1, Pause: time.Hour}, Intent: id}
	note := func(n hook.Note) error {
		_, err := receiver.Turn(ctx, hook.Turn{Note: &n, Waits: 1, Events: 1})
		return err
	}
	try("park", note(hook.Note{Health: hook.Health{Failures: 1}, Park: []hook.Park{park}}))
	try("refused again", note(hook.Note{Again: []hook.Again{{ID: 1, Tries: 2, Dead: true}}}))
	_, _, err = db.Replay(ctx, pgstore.Replay{Receiver: "shop " + idText(id), Dead: true, Most: 1})
	try("replay", err)
	try("confirmed", note(hook.Note{Gone: []hook.Put{{ID: 1}}}))
	_, err = db.HookStates(ctx)
	try("hooks", err)
}

// needs names an operation that fails without each grant; the test adds the columns of a change.
var needs = map[string]string{
	"node: SELECT ON conch.pending_schema_version":                               "check",
	"node: SELECT ON conch.intents":                                              "get",
	"node: INSERT ON conch.intents":                                              "accept",
	"node: UPDATE (nonce) ON conch.intents":                                      "assign",
	"node: UPDATE (fate) ON conch.intents":                                       "reject",
	"node: UPDATE (why) ON conch.intents":                                        "reject",
	"node: UPDATE (refusals) ON conch.intents":                                   "assign",
	"node: UPDATE (held_until) ON conch.intents":                                 "assign",
	"node: UPDATE (cancel) ON conch.intents":                                     "cancel",
	"node: UPDATE (expiring) ON conch.intents":                                   "expire",
	"node: UPDATE (version) ON conch.intents":                                    "assign",
	"node: UPDATE (stuck) ON conch.intents":                                      "assign",
	"node: SELECT ON conch.pending_events":                                       "events",
	"node: INSERT ON conch.pending_events":                                       "accept",
	"node: EXECUTE ON function conch.pending_trim(older interval, most integer)": "trim",
	"node: SELECT ON conch.pending_policies":                                     "policy",
	"node: SELECT ON conch.pending_spent":                                        "spent",
	"node: SELECT ON conch.pending_returned":                                     "spent",
	"observer: SELECT ON conch.pending_policies":                                 "observe pending_policies",
	"observer: SELECT ON conch.pending_spent":                                    "observe pending_spent",
	"observer: SELECT ON conch.pending_returned":                                 "observe pending_returned",
	"node: EXECUTE ON function conch.pending_reserve(chain text, ids uuid[], accounts bytea[], keys text[], tokens text[], versions bigint[], owners integer[], whats text[], amounts numeric[])": "reserve",
	"node: EXECUTE ON function conch.pending_kept(granted bigint, stored bigint)":                                                                                                                 "reserve",
	"node: EXECUTE ON function conch.pending_clear(older interval, most integer)":                                                                                                                 "clear",
	"observer: SELECT ON conch.pending_events":                                                                                                                                                    "observe pending_events",
	"node: SELECT ON conch.pending_accounts":                                                                                                                                                      "claim",
	"node: INSERT ON conch.pending_accounts":                                                                                                                                                      "claim",
	"node: UPDATE (system_id) ON conch.pending_accounts":                                                                                                                                          "assign",
	"node: UPDATE (timeline) ON conch.pending_accounts":                                                                                                                                           "assign",
	"node: UPDATE (epoch) ON conch.pending_accounts":                                                                                                                                              "settle",
	"node: UPDATE (write) ON conch.pending_accounts":                                                                                                                                              "settle",
	"node: SELECT ON conch.pending_transactions":                                                                                                                                                  "load",
	"node: INSERT ON conch.pending_transactions":                                                                                                                                                  "assign",
	"node: UPDATE (hash) ON conch.pending_transactions":                                                                                                                                           "raise",
	"node: UPDATE (updated_at) ON conch.pending_transactions":                                                                                                                                     "raise",
	"node: UPDATE (version) ON conch.pending_transactions":                                                                                                                                        "raise",
	"node: SELECT ON conch.pending_holds":                                                                                                                                                         "get",
	"node: INSERT ON conch.pending_holds":                                                                                                                                                         "hold",
	"node: SELECT ON conch.pending_attempts":                                                                                                                                                      "load",
	"node: INSERT ON conch.pending_attempts":                                                                                                                                                      "assign",
	"node: EXECUTE ON function conch.pending_history(OUT system_id bigint, OUT timeline bigint)":                                                                                                  "load",
	"node: UPDATE (seen_at) ON conch.hooks":                                                                                                                                                       "open a hook",
	"node: UPDATE (why) ON conch.hook_waits":                                                                                                                                                      "park",
	"node: SELECT ON conch.hooks":                                                                                                                                                                 "open a hook",
	"node: INSERT ON conch.hooks":                                                                                                                                                                 "open a hook",
	"node: SELECT ON conch.hook_waits":                                                                                                                                                            "hooks",
	"node: INSERT ON conch.hook_waits":                                                                                                                                                            "park",
	"node: DELETE ON conch.hook_waits":                                                                                                                                                            "confirmed",
	"observer: SELECT ON conch.hooks":                                                                                                                                                             "observe hooks",
	"observer: SELECT ON conch.hook_waits":                                                                                                                                                        "observe hook_waits",
	"node: EXECUTE ON function conch.pending_claim(chain text, account bytea, scope text, epoch bigint, write bigint)":                                                                            "claim",
	"node: EXECUTE ON function conch.pending_given(given bigint, wanted bigint)":                                                                                                                  "assign",
	"node: SELECT ON conch.pending_floors":                                                                                                                                                        "load",
	"node: EXECUTE ON function conch.pending_floor(chain text, account bytea, lowest bigint)":                                                                                                     "change",
	"node: SELECT ON conch.archived_intents":                                                                                                                                                      "accept",
	"node: SELECT ON conch.archived_transactions":                                                                                                                                                 "get",
	"node: EXECUTE ON function conch.pending_archive(chain text, account bytea, older interval, most integer)":                                                                                    "archive",
	"node: EXECUTE ON function conch.pending_forget(chain text, account bytea, older interval, most integer)":                                                                                     "forget",
	"observer: SELECT ON conch.archived_intents":                                                                                                                                                  "observe archived_intents",
	"observer: SELECT ON conch.archived_transactions":                                                                                                                                             "observe archived_transactions",
	"observer: SELECT ON conch.intents":                                                                                                                                                           "observe intents",
	"observer: SELECT ON conch.pending_transactions":                                                                                                                                              "observe pending_transactions",
	"observer: SELECT ON conch.pending_accounts":                                                                                                                                                  "observe pending_accounts",
	"observer: SELECT ON conch.pending_holds":                                                                                                                                                     "observe pending_holds",
	"node: SELECT ON conch.pending_lives":                                                                                                                                                         "load",
	"node: INSERT ON conch.pending_lives":                                                                                                                                                         "live",
	"node: UPDATE (over) ON conch.pending_lives":                                                                                                                                                  "a person's word",
	"node: EXECUTE ON function conch.pending_live(chain text, account bytea, life bigint, first bigint, since bigint)":                                                                            "live",
	"observer: SELECT ON conch.pending_lives":                                                                                                                                                     "observe pending_lives",
	"observer: SELECT ON conch.pending_schema_version":                                                                                                                                            "observe pending_schema_version",
}

// S29: the grants of deploy/grants.sql on pending transactions are enough, and each is needed.
func TestGrantsOnPendingTransactions(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	c := granted(t)
	admin := c.Connect(t)
	token, _ := nodetest.Lead(t, c.URL, "a", "pending:test", time.Minute)
	if failed := c.operations(t, token, grantedAccount); len(failed) > 0 {
		t.Fatalf("with all grants: got errors %v, want none", failed)
	}
	needs := maps.Clone(needs)
	for _, column := range []string{"state", "block_hash", "block_number", "effect", "final", "watched", "intent", "epoch", "write", "witnesses", "waits", "told", "stuck"} {
		needs["node: UPDATE ("+column+") ON conch.pending_transactions"] = "change"
	}
	for _, column := range []string{"chain", "account", "nonce", "hash"} {
		needs["node: SELECT ("+column+") ON conch.archived_attempts"] = "by hash"
	}
	for _, column := range []string{"n", "fee_max", "fee_tip", "gas", "filler", "created_at"} {
		needs["node: SELECT ("+column+") ON conch.archived_attempts"] = "attempts"
	}
	for _, column := range []string{"held_cause", "held_why", "held_height", "held_nonce", "held_since"} {
		needs["node: UPDATE ("+column+") ON conch.intents"] = "put off"
	}
	for _, column := range []string{"intent", "why", "since", "epoch", "write"} {
		needs["node: UPDATE ("+column+") ON conch.pending_holds"] = "hold"
	}
	for _, column := range []string{"place", "beyond", "failures", "failing_since", "why"} {
		needs["node: UPDATE ("+column+") ON conch.hooks"] = "park"
	}
	for _, column := range []string{"tries", "since", "due_at", "dead_at"} {
		needs["node: UPDATE ("+column+") ON conch.hook_waits"] = "replay"
	}
	needs["node: SELECT (until) ON conch.archived_attempts"] = "load"
	open := maps.Clone(needs)
	for i, name := range c.Privileges(t, admin, "^(pending|archived|hook)|^intents$") {
		delete(open, name)
		operation, known := needs[name]
		if !known {
			t.Errorf("got the grant %s, which needs has no operation for", name)
			continue
		}
		var failed map[string]error
		if !c.Without(t, admin, name, func() error {
			failed = c.operations(t, token, chain.Account(fmt.Sprintf("%04d account 20 byt", i)))
			return failed[operation]
		}) {
			t.Errorf("without %s: got error %v of %q, want 42501; all errors: %v", name, failed[operation], operation, failed)
		}
	}
	for name := range open {
		t.Errorf("%s is needed and not granted", name)
	}
}

// The roles have no other rights, and grants.sql knows every table of pending transactions.
func TestGrantsOnPendingTransactionsAreNarrow(t *testing.T) {
	t.Parallel()
	c := granted(t)
	for role, statements := range map[string][]string{
		c.Observer: {
			`SELECT signed FROM conch.pending_attempts`, `UPDATE conch.intents SET cancel = true`,
			`SELECT conch.pending_claim('a', 'b', 'c', 1, 1)`, `INSERT INTO conch.pending_attempts DEFAULT VALUES`,
		},
		c.Fence: {`SELECT FROM conch.intents`, `SELECT FROM conch.pending_transactions`, `SELECT FROM conch.pending_attempts`},
		c.Node: {
			`DELETE FROM conch.intents`, `UPDATE conch.intents SET value = 0`, `DELETE FROM conch.pending_transactions`,
			`UPDATE conch.pending_transactions SET nonce = 0`, `UPDATE conch.pending_attempts SET signed = ''`,
			`DELETE FROM conch.pending_attempts`, `DELETE FROM conch.pending_events`, `DELETE FROM conch.hooks`, `UPDATE conch.hook_waits SET event = 9`, `UPDATE conch.pending_events SET version = 9`, `UPDATE conch.pending_accounts SET scope = 'mine'`, `UPDATE conch.pending_floors SET nonce = 9`, `UPDATE conch.pending_lives SET first = 9`, `DELETE FROM conch.pending_lives`,
			`INSERT INTO conch.pending_policies DEFAULT VALUES`, `UPDATE conch.pending_policies SET most = '{}'`, `DELETE FROM conch.pending_policies`, `UPDATE conch.pending_spent SET spent = 0`,
			`DELETE FROM conch.pending_reserved`, `INSERT INTO conch.pending_returned DEFAULT VALUES`, `TRUNCATE conch.intents CASCADE`,
			`INSERT INTO conch.archived_intents DEFAULT VALUES`, `DELETE FROM conch.archived_intents`, `SELECT signed FROM conch.archived_attempts`,
		},
	} {
		conn := pgtest.Connect(t, pg.Config{URL: c.As(t, role)})
		for _, sql := range statements {
			if _, err := conn.Exec(t.Context(), sql); pg.Code(err) != "42501" {
				t.Errorf("%s: %s: got error %v, want 42501", role, sql, err)
			}
		}
	}
	rows, err := c.Connect(t).Query(t.Context(), `SELECT relname::text FROM pg_class WHERE relnamespace = 'conch'::regnamespace
		AND relkind IN ('r', 'v', 'p', 'm') AND (relname LIKE '%pending%' OR relname LIKE '%intent%' OR relname LIKE 'archived%' OR relname LIKE 'hook%') AND relname <> ALL ($1)`,
		[]string{"intents", "pending_transactions", "pending_accounts", "pending_attempts", "pending_holds", "pending_lives", "pending_floors", "pending_events", "hooks", "hook_waits", "pending_schema_version",
			"pending_policies", "pending_spent", "pending_reserved", "pending_returned", "archived_intents", "archived_transactions", "archived_attempts"})
	if err != nil {
		t.Fatal(err)
	}
	if left, err := pgx.CollectRows(rows, pgx.RowTo[string]); err != nil || len(left) > 0 {
		t.Errorf("got tables %v that deploy/grants.sql says nothing about, %v", left, err)
	}
}

// The pages about grants name every function with its owner's rights.
func TestDefinersAreNamed(t *testing.T) {
	t.Parallel()
	var definers string
	err := pgtest.New(t).Connect(t).QueryRow(t.Context(), `SELECT string_agg('conch.' || proname, ' and ' ORDER BY proname)
		FROM pg_proc WHERE pronamespace = 'conch'::regnamespace AND prosecdef`).Scan(&definers)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"docs/security.md", "deploy/grants.sql"} {
		text, err := os.ReadFile(filepath.FromSlash("../../../../../" + file))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(strings.NewReplacer("`", "", "--", "").Replace(string(text))), " ")
		if !strings.Contains(words, "all but "+definers) {
			t.Errorf("%s does not say %q", file, "all but "+definers)
		}
	}
}
