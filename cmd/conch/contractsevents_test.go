//go:build unix

package main_test

import (
	"bufio"
	"context"
	"encoding/json"
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

// eventStream is an open stream of a node's events.
type eventStream struct {
	t     *testing.T
	close func()
	lines *bufio.Scanner
	last  string // the id of the last event
}

// streamEvents opens a stream, after the event with the id last unless that is empty.
func streamEvents(t *testing.T, d *daemon, query, last string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*longPatience)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.api()+"/v1/events"+query, nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r) //nolint:bodyclose // close does it
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v, want a stream", answer, err)
	}
	s := &eventStream{t: t, lines: bufio.NewScanner(answer.Body), last: last, close: func() { cancel(); _ = answer.Body.Close() }}
	t.Cleanup(s.close)
	return s
}

// next returns the next event that has a name, and its data.
func (s *eventStream) next() (name string, data map[string]any) {
	s.t.Helper()
	for s.lines.Scan() {
		switch field, value, _ := strings.Cut(s.lines.Text(), ": "); field {
		case "id":
			s.last = value
		case "event":
			name = value
		case "data":
			if name == "" {
				continue // of the history
			}
			if err := json.Unmarshal([]byte(value), &data); err != nil {
				s.t.Fatal(err)
			}
			return name, data
		}
	}
	s.t.Fatalf("the stream has ended: %v", s.lines.Err())
	return "", nil
}

// until returns the stages of one transaction, up to one of them, and the data of that.
func (s *eventStream) until(path, stage string) (stages []string, data map[string]any) {
	s.t.Helper()
	for {
		name, data := s.next()
		id, _ := data["id"].(string)
		if name != "contract" || !strings.HasSuffix(path, "/"+id) {
			continue
		}
		stages = append(stages, data["event"].(string))
		if data["event"] == stage {
			return stages, data
		}
	}
}

// P28, S9: what a user follows of a transaction is on the stream of events, of the process that leads alone. A client that
// reconnects misses nothing, and one that reads on over a change of the leader is told where it may have missed something.
func TestEventsOfAContract(t *testing.T) {
	t.Parallel()
	p := newParties(t, 1, "bank")
	bank := p.all[0]
	other := p.standby(bank)
	query := "?contract=" + p.address
	if code, answer := get(t, other.api()+"/v1/events"+query); code != http.StatusServiceUnavailable || answer["type"] != "urn:conch:problem:not-leading" {
		t.Errorf("the standby says %d %v, want that it does not lead", code, answer)
	}
	elsewhere := streamEvents(t, other.daemon, "", "")
	s := streamEvents(t, bank.daemon, query, "")
	path := p.asks(bank, "funds", `{"issue": {"to": "office", "amount": 100}}`)
	if stages, _ := s.until(path, "stored"); len(stages) != 1 {
		t.Errorf("its first stages are %v, want stored", stages)
	}
	s.close()
	done := p.ends(bank, path, "confirmed")
	s = streamEvents(t, bank.daemon, query, s.last)
	stages, data := s.until(path, "confirmed")
	if !slices.Contains(stages, "included") || slices.Contains(stages, "stored") {
		t.Errorf("the stages after the first are %v, want included and confirmed", stages)
	}
	if data["idempotency_key"] != "funds" || data["contract"] != p.address || data["fate"] != "confirmed" || data["attempt"] != done["attempt"] || data["block"] != done["block"] || data["at"] == "" {
		t.Errorf("its end is told as %v, and it is %v", data, done)
	}
	poor := p.asks(bank, "too much", `{"pay": {"from": "office", "to": "desk", "amount": 101}}`)
	if code, answer := post(t, bank.api()+poor+"/cancel", ""); code != http.StatusAccepted {
		t.Fatalf("%d %v", code, answer)
	}
	if stages, data := s.until(poor, "reverted"); stages[0] != "stored" || data["fate"] != "reverted" || data["why"] == nil {
		t.Errorf("the stages of what was cancelled are %v, its end %v", stages, data)
	}
	bank.stop(syscall.SIGKILL)
	p.leads(other, 1)
	name, data := elsewhere.next()
	for name == "transaction" || data["of"] == "transaction" { // this stream has what is told of everything
		name, data = elsewhere.next()
	}
	if name != "gap" || data["of"] != "contract" {
		t.Errorf("the new leader says %s %v first, want a gap", name, data)
	}
	path = p.asks(other, "after the kill", `{"pay": {"from": "office", "to": "desk", "amount": 1}}`)
	elsewhere.until(path, "confirmed")
	moved := streamEvents(t, other.daemon, query, s.last)
	if name, data := moved.next(); name != "gap" || data["of"] != "contract" {
		t.Errorf("who comes from the old leader gets %s %v first, want a gap", name, data)
	}
	other.stop(syscall.SIGTERM)
	pgtest.Within(t, longPatience, "the stream ends with the process", func() {
		for moved.lines.Scan() {
			continue
		}
	})
}

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
