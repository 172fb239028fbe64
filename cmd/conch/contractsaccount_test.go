//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// sent returns the transactions that the organisation's account has for contracts, with their fates, the first one first.
func (o *organisation) sent(t *testing.T) (ids, fates []string) {
	t.Helper()
	_, answer := get(t, o.api()+"/v1/transactions?limit=100")
	all, _ := answer["transactions"].([]any)
	for i := range all {
		one, _ := all[len(all)-1-i].(map[string]any)
		if key, _ := one["idempotency_key"].(string); strings.HasPrefix(key, "conch:ledger ") {
			ids, fates = append(ids, fmt.Sprint(one["id"])), append(fates, fmt.Sprint(one["fate"]))
		}
	}
	return ids, fates
}

// P33, P40, Q2: an account cannot send what its contract needs, and the node says why. An operator cancels the transaction: its
// entry goes out in another one. The node is killed, and does not submit that again. Nobody else has such a key.
func TestAnAccountThatCannotSend(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	p := agreeing(t, 1, []string{"--life", "100000", "--range-size", "100000"}, "bank")
	bank := p.all[0]
	bank.stop(syscall.SIGTERM)
	bank.write(strings.Replace(p.file(bank), "name = \"ops\"\n", "name = \"ops\"\nmax_fee = \"10 wei\"\nmax_tip = \"1 wei\"\n", 1))
	p.start(bank)
	path := p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`)
	pgtest.Eventually(t, longPatience, "the node says why its entry waits", func() bool {
		_, k := get(t, bank.api()+"/v1/contracts/"+p.address)
		waits, _ := k["waits"].(string)
		return strings.HasPrefix(waits, `account "ops": `)
	})
	ids, fates := bank.sent(t)
	if len(ids) != 1 || fates[0] != "queued" {
		t.Fatalf("the account has %v %v, want one transaction that waits", ids, fates)
	}
	if code, answer := post(t, bank.api()+"/v1/transactions/"+ids[0]+"/cancel", ""); code != http.StatusAccepted {
		t.Fatalf("%d %v", code, answer)
	}
	pgtest.Eventually(t, longPatience, "its entry is submitted again", func() bool {
		ids, fates = bank.sent(t)
		return len(ids) == 2 && fates[0] == "cancelled" && fates[1] == "queued"
	})
	taken := fmt.Sprintf(`{"account":"ops","to":%q,"idempotency_key":"conch:ledger 0x00"}`, bank.account)
	if code, answer := post(t, bank.api()+"/v1/transactions", taken); code != http.StatusUnprocessableEntity || !strings.Contains(fmt.Sprint(answer), "conch's own") {
		t.Errorf("a user's key like the node's: %d %v, want 422", code, answer)
	}
	bank.stop(syscall.SIGKILL)
	bank.write(p.file(bank))
	p.start(bank)
	p.ends(bank, path, "confirmed")
	if ids, fates = bank.sent(t); fmt.Sprint(fates) != "[cancelled done]" && fmt.Sprint(fates) != "[cancelled open]" {
		t.Errorf("the account has %v %v, want the cancelled one and one more", ids, fates)
	}
	p.ends(bank, p.asks(bank, "more funds", `{"issue": {"to": "office", "amount": 100}}`), "confirmed")
	pgtest.Eventually(t, longPatience, "all is done", func() bool {
		ids, fates = bank.sent(t)
		return fmt.Sprint(fates) == "[cancelled done done]"
	})
	bank.stop(syscall.SIGTERM)
	aMonthPasses(t, bank.db)
	p.start(bank)
	pgtest.Eventually(t, longPatience, "what has ended is forgotten, all but the newest nonce", func() bool {
		left, _ := bank.sent(t)
		return !slices.Contains(left, ids[0]) && !slices.Contains(left, ids[1])
	})
	if text := conch(t, "tx", "list", "--node", bank.api()).done(t); !strings.Contains(text, "done") || strings.Count(text, "\n") < 2 {
		t.Errorf("the account has %s, want what its user has sent: the contract", text)
	}
	bank.stop(syscall.SIGTERM)
}

// aMonthPasses has all transactions of a database be a month older than they are.
func aMonthPasses(t *testing.T, url string) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: url})
	for _, sql := range []string{
		`UPDATE conch.pending_transactions SET updated_at = updated_at - interval '31 days'`,
		`UPDATE conch.intents SET created_at = created_at - interval '31 days'`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}
