package ui_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// ledger is what the stand-in says of accounts, transactions and files.
type ledger struct {
	accounts []object
	rows     []object // transactions, the newest first
	shelves  []object
	files    []object // of each scope
	policies []object
	series   []object
	since    time.Time // when the first step of the series begins
	would    object    // what a dry run says
	asked    []string  // paths, with their queries
	bodies   []object  // of what was posted
}

// serveLedger adds the routes of services.
func (n *node) serveLedger(api func(path string, serve func(w http.ResponseWriter, r *http.Request))) {
	n.ledger.accounts, n.ledger.rows, n.ledger.shelves = []object{}, []object{}, []object{}
	of := func(path string, serve func(r *http.Request) (status int, answer any)) {
		api(path, func(w http.ResponseWriter, r *http.Request) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.ledger.asked = append(n.ledger.asked, r.URL.RequestURI())
			status, said := serve(r)
			if status >= 400 {
				refuse(w, status, fmt.Sprint(said))
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = w.Write(encoded(said))
		})
	}
	stored := func(path string, serve func(r *http.Request) (status int, answer any)) {
		of(path, func(r *http.Request) (int, any) {
			if !n.awaySince.IsZero() {
				return http.StatusServiceUnavailable, "connection refused"
			}
			return serve(r)
		})
	}
	stored("GET /v1/accounts", func(*http.Request) (int, any) {
		return 200, object{"as_of": time.Now().UTC(), "accounts": n.ledger.accounts}
	})
	stored("GET /v1/policies", func(*http.Request) (int, any) {
		return 200, object{"as_of": time.Now().UTC(), "policies": append([]object{}, n.ledger.policies...)}
	})
	stored("GET /v1/transactions", n.listed)
	stored("GET /v1/transactions/{id}", func(r *http.Request) (int, any) { return n.ledger.one(r, 200) })
	stored("POST /v1/transactions/{id}/cancel", func(r *http.Request) (int, any) {
		n.ledger.bodies = append(n.ledger.bodies, object{"cancel": r.PathValue("id")})
		return n.ledger.one(r, 202)
	})
	stored("POST /v1/transactions", n.sent)
	of("GET /v1/series", func(*http.Request) (int, any) {
		return 200, object{"as_of": time.Now().UTC(), "name": "pending_transactions", "from": n.ledger.since.UTC(), "step_ms": 15_000, "series": append([]object{}, n.ledger.series...)}
	})
	of("GET /v1/files", func(*http.Request) (int, any) {
		return 200, object{"as_of": time.Now().UTC(), "scopes": n.ledger.shelves}
	})
	of("GET /v1/catalog", n.catalog)
}

func (n *node) listed(r *http.Request) (int, any) {
	q := r.URL.Query()
	found := []object{}
	for _, t := range n.ledger.rows {
		if (q.Get("account") == "" || t["account"] == q.Get("account")) && (q.Get("fate") == "" || t["fate"] == q.Get("fate")) && (q.Get("hash") == "" || t["hash"] == q.Get("hash")) {
			found = append(found, t)
		}
	}
	var next any
	from := 0
	if _, err := fmt.Sscan(q.Get("cursor"), &from); err == nil {
		found = found[from:]
	}
	if len(found) > 100 {
		found, next = found[:100], fmt.Sprint(from+100)
	}
	return 200, object{"as_of": time.Now().UTC(), "transactions": found, "next": next}
}

func (l *ledger) one(r *http.Request, status int) (int, any) {
	for _, t := range l.rows {
		if t["id"] == r.PathValue("id") {
			t["as_of"] = time.Now().UTC()
			return status, t
		}
	}
	return 404, "this node knows no transaction with this id"
}

func (n *node) sent(r *http.Request) (int, any) {
	var body object
	_ = json.NewDecoder(r.Body).Decode(&body)
	if r.URL.Query().Get("dry_run") == "true" {
		if n.ledger.would["status"] != nil {
			return http.StatusUnprocessableEntity, n.ledger.would["detail"]
		}
		return 200, n.ledger.would
	}
	n.ledger.bodies = append(n.ledger.bodies, body)
	return 202, object{"id": txID(99)}
}

func (n *node) catalog(r *http.Request) (int, any) {
	q := r.URL.Query()
	for _, s := range n.ledger.shelves {
		if s["scope"] != q.Get("scope") {
			continue
		}
		found := []object{}
		for _, f := range n.ledger.files {
			if strings.Contains(f["name"].(string), q.Get("q")) {
				found = append(found, f)
			}
		}
		all, next := len(found), any(nil)
		for len(found) > 0 && found[0]["name"].(string) <= q.Get("after") {
			found = found[1:]
		}
		if len(found) > 500 {
			found = found[:500]
			next = found[499]["name"]
		}
		return 200, object{"scope": s["scope"], "version": s["version"], "leading": s["leading"], "holder": s["holder"], "as_of": s["as_of"], "found": all, "files": found, "next": next}
	}
	return 404, "this node has no files for the scope"
}

func txID(n int) string { return fmt.Sprintf("01934f6e-0000-4000-8000-%012d", n) }

const txHash = "0x5f1d0c9a7be1c46f23a4e2b79d6a1c0f8e3b5d7a9c1e2f3a4b5c6d7e8f901234"

// tx is a transaction, with what is different from one that waits for a nonce.
func tx(number int, age time.Duration, more object) object {
	t := object{
		"id": txID(number), "version": 1, "account": "payer", "chain": "evm:1337", "address": "0x4B7B9fC89D0A3cBb0e1b1c1e7a8A3CbB0E1b1C1E", "to": "0x00000000000000000000000000000000000000aa",
		"value": "250000000000000000", "data": "0x", "idempotency_key": fmt.Sprintf("invoice-%d", number), "state": nil, "fate": "queued", "outcome": nil, "waiting_for": object{"reason": "a nonce"},
		"nonce": nil, "hash": nil, "block": nil, "witnesses": nil, "failed": false, "effect": nil, "creator": "node-1", "created_at": time.Now().Add(-age).UTC(), "changed_at": nil, "speed": "normal", "receipt": nil, "attempts": []object{},
	}
	maps.Copy(t, more)
	return t
}

func attempt(nonce int, before time.Duration, fee string, more object) object {
	a := object{"hash": txHash, "nonce": nonce, "max_fee": fee, "max_tip": "1000000000", "gas": 21000, "filler": false, "signed_at": time.Now().Add(-before).UTC(), "in_block": false}
	maps.Copy(a, more)
	return a
}

// paid is a transaction that has ended well: at its third attempt, 12 s after it was accepted.
func paid(number int, age time.Duration) object {
	nonce := 400 + number
	return tx(number, age, object{
		"version": 6, "state": "finalized", "fate": "done", "outcome": "succeeded", "effect": "ok", "waiting_for": nil, "nonce": nonce, "hash": txHash,
		"block": object{"number": 71231, "hash": txHash}, "witnesses": []string{"https://rpc-a.example", "https://rpc-b.example"}, "changed_at": time.Now().Add(12*time.Second - age).UTC(),
		"attempts": []object{
			attempt(nonce, age-20*time.Millisecond, "12000000000", nil), attempt(nonce, age-4*time.Second, "15000000000", nil),
			attempt(nonce, age-7*time.Second, "18750000000", object{"in_block": true}),
		},
		"receipt": object{"status": "succeeded", "gas_used": 21000, "effective_gas_price": "11000000000", "fee": "231000000000000", "contract_address": nil, "logs": []any{}, "logs_cut": false, "log_count": 0, "witnesses": []string{"a", "b"}},
	})
}

func account(name, scope string, more object) object {
	a := object{
		"name": name, "chain": "evm:1337", "address": "0x4B7B9fC89D0A3cBb0e1b1c1e7a8A3CbB0E1b1C1E", "scope": scope, "leads": true, "balance": "41250000000000000000", "nonce": 431, "next_nonce": 434,
		"block": object{"number": 71240, "hash": txHash}, "by": "https://rpc-a.example", "queued": 2, "in_flight": 1, "in_block": 2, "gaps": 0, "oldest_at": time.Now().Add(-9 * time.Second).UTC(), "waiting_for": nil, "alarms": []object{},
	}
	maps.Copy(a, more)
	return a
}

const payerScope = "pending:evm:1337:0x4b7b9fc89d0a3cbb0e1b1c1e7a8a3cbb0e1b1c1e"

// trades gives the node accounts with transactions, which are well or in trouble, and files.
func (n *node) trades(is string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &n.ledger
	l.since = time.Now().Add(-time.Hour)
	l.accounts, l.rows, l.shelves, l.files, l.series, l.policies = []object{}, []object{}, []object{}, nil, nil, nil
	if is == "empty" {
		return
	}
	hot := object{}
	l.rows = []object{
		tx(45, 2*time.Second, nil), tx(44, 3*time.Second, object{"account": "refunds"}),
		tx(43, 9*time.Second, object{"state": "broadcast", "fate": "open", "nonce": 433, "waiting_for": object{"reason": "a block"}, "hash": txHash, "changed_at": time.Now().Add(-8 * time.Second).UTC(), "attempts": []object{attempt(433, 8*time.Second, "12000000000", nil)}}),
		tx(42, 31*time.Second, object{"state": "in_block", "fate": "open", "nonce": 432, "waiting_for": object{"reason": "finality"}, "hash": txHash, "block": object{"number": 71239, "hash": txHash}, "changed_at": time.Now().Add(-12 * time.Second).UTC(), "attempts": []object{attempt(432, 30*time.Second, "12000000000", object{"in_block": true})}}),
	}
	for i := range 26 {
		l.rows = append(l.rows, paid(31-i, time.Duration(i+1)*7*time.Minute))
	}
	l.rows[8] = tx(27, 40*time.Minute, object{"state": "finalized", "fate": "done", "outcome": "reverted", "failed": true, "effect": "failed", "waiting_for": nil, "nonce": 427, "hash": txHash, "block": object{"number": 71002, "hash": txHash}, "changed_at": time.Now().Add(-39 * time.Minute).UTC()})
	l.rows[9] = tx(26, 45*time.Minute, object{"fate": "rejected", "outcome": "rejected", "waiting_for": nil, "why": "execution reverted: ERC20: transfer amount exceeds balance"})
	l.rows[10] = tx(25, 50*time.Minute, object{"fate": "cancelled", "outcome": "cancelled", "waiting_for": nil})
	l.rows[11] = tx(24, 55*time.Minute, object{"state": "finalized", "fate": "done", "outcome": "partly", "effect": "partly: item 2: balances.InsufficientBalance", "waiting_for": nil, "nonce": 424, "hash": txHash, "block": object{"number": 70911, "hash": txHash}, "witnesses": []string{"https://rpc-a.example", "https://rpc-b.example"}, "changed_at": time.Now().Add(-54 * time.Minute).UTC()})
	l.rows[12] = tx(23, time.Hour, object{"state": "finalized", "fate": "done", "outcome": "unknown", "effect": "unknown", "waiting_for": nil, "nonce": 423, "hash": txHash, "block": object{"number": 70899, "hash": txHash}, "witnesses": []string{"https://rpc-a.example", "https://rpc-b.example"}, "receipt_unknown": "no endpoint keeps the state of block 70899 any more", "changed_at": time.Now().Add(-59 * time.Minute).UTC()})
	if is == "trouble" {
		hot = object{
			"balance": "3000000000000", "queued": 212, "in_flight": 4, "gaps": 1, "next_nonce": 437, "oldest_at": time.Now().Add(-41 * time.Minute).UTC(),
			"waiting_for": object{"reason": "behind transaction " + txID(41) + ": it cannot pay: it has 3000000000000 wei, and 252000000000000 are needed", "intent": txID(41), "since": time.Now().Add(-41 * time.Minute).UTC(), "refusals": 82},
			"alarms": []object{
				{"cause": "funds", "means": "the account cannot pay: what waits for money is not sent until it can, nor is what waits behind it", "remedy": "fund it; no nonce was used up", "since": time.Now().Add(-41 * time.Minute).UTC(), "error": "it has 3000000000000 wei"},
				{"cause": "unsignable", "means": "the chain would refuse the next attempt for a nonce: the nonce waits with the attempts that it has", "remedy": "nothing: its bytes are sent again and again, and later ones go on behind it", "since": time.Now().Add(-6 * time.Minute).UTC(), "nonce": 433, "error": "replacement transaction underpriced"},
			},
		}
		l.rows[0]["waiting_for"] = hot["waiting_for"]
		l.rows[2]["attempts"] = []object{
			attempt(433, 8*time.Minute, "12000000000", nil), attempt(433, 7*time.Minute, "15000000000", object{"error": "not accepted: https://rpc-a.example: replacement transaction underpriced"}),
		}
		l.rows[2]["waiting_for"] = object{"reason": "unsignable: replacement transaction underpriced"}
	}
	l.accounts = []object{account("payer", payerScope, hot), account("refunds", "mailer", object{"leads": false, "queued": 1, "in_flight": 0, "in_block": 0, "nonce": 12, "next_nonce": 12, "oldest_at": nil, "alarms": nil})}
	for i, state := range []string{"queued", "future", "ready", "broadcast", "in_block", "retracted", "finality_timeout"} {
		values := make([]any, 240)
		for at := range values {
			values[at] = []int{(at * 7) % 5, 0, 0, 1 + at%3, 2 + at%2, 0, 0}[i]
			if is == "trouble" && at > 76 && i == 0 {
				values[at] = at + at%7 - 27
			}
			if at > 120 && at < 130 {
				values[at] = nil
			}
		}
		l.series = append(l.series, object{"state": state, "values": values})
	}
	limit := func(name, most, spent, left string) object {
		return object{"name": name, "most": most, "spent": spent, "left": left}
	}
	l.policies = []object{
		{"token": "payout", "chain": "evm:1337", "may": []string{"cancel", "read_others"}, "as_of": time.Now().UTC(), "limits": []object{
			limit("value_a_day", "5000000000000000000", map[bool]string{true: "5000000000000000000", false: "250000000000000000"}[is == "trouble"], map[bool]string{true: "0", false: "4750000000000000000"}[is == "trouble"]),
			limit("count_a_minute", "60", "2", "58"), limit("erc20 0x5FbDB2315678afecb367f032d93F642f64180aa3", "2000000000", "500000000", "1500000000"),
		}},
		{"token": "refunds", "chain": "evm:1337", "may": []string{}, "as_of": time.Now().UTC(), "limits": []object{}},
	}
	shelf := func(scope string, leading bool, peers object) object {
		s := object{"scope": scope, "version": object{"epoch": 6, "seq": 41}, "leading": leading, "holder": map[bool]string{true: "node-2", false: "node-3"}[leading], "as_of": time.Now().Add(-2 * time.Second).UTC(), "files": 812, "bytes": 48_213_944_120}
		if peers != nil {
			s["peers"] = peers
		}
		return s
	}
	same, old := object{"epoch": 6, "seq": 41}, object{"epoch": 6, "seq": 38}
	l.shelves = []object{shelf("mailer", false, nil), shelf("reports", true, object{"node-1": same, "node-3": map[bool]object{true: old, false: same}[is == "trouble"]})}
	for i := range 812 {
		l.files = append(l.files, object{"name": fmt.Sprintf("2026/%02d/report-%04d.pdf", i/70+1, i), "size": 1000 + i*i*i})
	}
}
