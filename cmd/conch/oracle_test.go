//go:build unix

package main_test

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The oracle: whether everything that was accepted was done once is read from the
// chain. The database only says what was promised, and which bytes were stored.

// mined is a transaction of the funded account, in a block of the best chain.
type mined struct {
	nonce      uint64
	hash, deed string
	reverted   bool
}

// promise is an intent as the database has it.
type promise struct{ deed, fate string }

// deed is what a call does. Tests give each intent one that no other has, so that it
// is known again on the chain.
func deed(to, value, data string) string { return strings.ToLower(to) + " " + value + " " + data }

// filler is the deed of a transaction that only uses its nonce up.
var filler = deed(fundedAddress, "0", "0x")

// evidence is everything that a verdict rests on.
type evidence struct {
	chain    []mined            // in the chain's order
	count    uint64             // the account's next nonce, as the chain says
	stored   map[string]bool    // the hashes of all signed bytes in the database
	promises map[string]promise // by their IDs
	asked    map[string]string  // what was acknowledged: ID and deed
	foreign  []string           // hashes of what others sent from the account
}

// faults lists what is wrong.
func (e evidence) faults() (faults []string) {
	say := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	times := map[string]int{}
	for i, tx := range e.chain {
		if tx.nonce != uint64(i) {
			say("nonce %d follows %d others on the chain", tx.nonce, i)
		}
		others := slices.Contains(e.foreign, tx.hash)
		if !others && !e.stored[tx.hash] {
			say("%s, nonce %d, is on the chain and not in the database", tx.hash, tx.nonce)
		}
		if tx.reverted {
			say("%s, nonce %d, had no effect", tx.hash, tx.nonce)
		}
		if !others && tx.deed != filler {
			times[tx.deed]++
		}
	}
	if e.count != uint64(len(e.chain)) {
		say("the chain counts %d transactions and shows %d", e.count, len(e.chain))
	}
	for id, wished := range e.asked {
		if p, kept := e.promises[id]; !kept || p.deed != wished {
			say("%s was acknowledged and is lost: it should be %s", id, wished)
		}
	}
	for id, p := range e.promises {
		want := map[string]int{"done": 1, "cancelled": 0, "rejected": 0}
		if n, over := want[p.fate]; !over {
			say("%s never ended: it is %s, and %d times on the chain", id, p.fate, times[p.deed])
		} else if times[p.deed] != n {
			say("%s is %s, and %d times on the chain", id, p.fate, times[p.deed])
		}
		delete(times, p.deed)
	}
	for unwished, n := range times {
		say("%s is %d times on the chain, and nobody wished it", unwished, n)
	}
	slices.Sort(faults)
	return faults
}

// judge waits until everything in the database has ended and is deep enough in the
// chain, and then holds the two against each other. Every acknowledged ID has to be
// there. Hashes of what the test itself sent from the account come last.
func judge(t testing.TB, chain *devnode, db string, asked map[string]string, foreign ...string) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: db, AppName: "oracle"})
	open := -1
	defer func() {
		if t.Failed() {
			t.Logf("%d intents were acknowledged, and %d in the database are open", len(asked), open)
		}
	}()
	pgtest.Eventually(t, longPatience, "everything accepted has ended", func() bool {
		open = openIntents(t, conn)
		return open == 0
	})
	// A chain that has gone back may lack what was final, until it is there again. What
	// is there twice stays.
	var e evidence
	var faults []string
	settled := time.NewTimer(patience)
	defer settled.Stop()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for more := true; more; {
		e = gather(t, chain, conn)
		e.asked, e.foreign = asked, foreign
		if faults = e.faults(); len(faults) == 0 {
			break
		}
		select {
		case <-poll.C:
		case <-settled.C:
			more = false
		}
	}
	for _, fault := range faults {
		t.Error(fault)
	}
	t.Logf("%d acknowledged, %d in the database; %d transactions on the chain", len(asked), len(e.promises), len(e.chain))
}

// openIntents counts what has not ended; -1: who knows.
func openIntents(t testing.TB, conn *pgx.Conn) (n int) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM conch.intents WHERE fate = 'open'`).Scan(&n); err != nil {
		return -1
	}
	return n
}

// gather reads the chain and the database.
func gather(t testing.TB, chain *devnode, conn *pgx.Conn) evidence {
	t.Helper()
	e := evidence{stored: map[string]bool{}, promises: map[string]promise{}}
	// The chain first: what is on it was stored before.
	e.chain, e.count = chain.history()
	var hash, id, fate, to, value, data string
	rows, err := conn.Query(t.Context(), `SELECT '0x' || encode(hash, 'hex') FROM conch.pending_attempts`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&hash}, func() error { e.stored[hash] = true; return nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	rows, err = conn.Query(t.Context(), `SELECT id::text, fate, '0x' || encode(to_account, 'hex'), value::text, '0x' || encode(data, 'hex') FROM conch.intents`)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&id, &fate, &to, &value, &data}, func() error {
			e.promises[id] = promise{deed(to, value, data), fate}
			return nil
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// longPatience is for many transactions on a busy machine.
const longPatience = 3 * patience

// history walks the best chain for what the funded account did.
func (d *devnode) history() (all []mined, count uint64) {
	d.t.Helper()
	head := number(d.t, d.call("eth_blockNumber"))
	for n := range head + 1 {
		block := d.call("eth_getBlockByNumber", "0x"+strconv.FormatUint(n, 16), true).(map[string]any)
		txs := block["transactions"].([]any)
		for _, one := range txs {
			tx := one.(map[string]any)
			if !strings.EqualFold(tx["from"].(string), fundedAddress) {
				continue
			}
			hash := tx["hash"].(string)
			receipt := d.call("eth_getTransactionReceipt", hash).(map[string]any)
			to, _ := tx["to"].(string) // none: it makes a contract
			does := deed(to, quantity(d.t, tx["value"]).String(), tx["input"].(string))
			all = append(all, mined{number(d.t, tx["nonce"]), hash, does, receipt["status"] != "0x1"})
		}
	}
	at := "0x" + strconv.FormatUint(head, 16) // of the same block, since the chain goes on
	return all, number(d.t, d.call("eth_getTransactionCount", fundedAddress, at))
}

// quantity reads a number as nodes write it.
func quantity(t testing.TB, said any) *big.Int {
	t.Helper()
	text, _ := said.(string)
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	if !ok {
		t.Fatalf("%v is no quantity", said)
	}
	return n
}

func number(t testing.TB, said any) uint64 {
	t.Helper()
	return quantity(t, said).Uint64()
}

// sound is evidence of two intents done, one cancelled and one that was never to be.
func sound() evidence {
	return evidence{
		chain:    []mined{{0, "0xa", "0x01", false}, {1, "0xb", filler, false}, {2, "0xc", "0x02", false}},
		count:    3,
		stored:   map[string]bool{"0xa": true, "0xb": true, "0xb'": true, "0xc": true},
		promises: map[string]promise{"one": {"0x01", "done"}, "two": {"0x02", "done"}, "three": {"0x03", "cancelled"}, "four": {"0x04", "rejected"}},
		asked:    map[string]string{"one": "0x01", "two": "0x02", "three": "0x03"},
	}
}

// An oracle that never finds anything proves nothing.
func TestTheOracleSees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		spoil      func(*evidence)
	}{
		{"nothing wrong", "", func(*evidence) {}},
		{"somebody else's, who is known", "", func(e *evidence) {
			e.chain, e.count, e.foreign = append(e.chain, mined{3, "0xd", "0x09", false}), 4, []string{"0xd"}
		}},
		{"missing", "two is done, and 0 times on the chain", func(e *evidence) { e.chain, e.count = e.chain[:2], 2 }},
		{"twice", "one is done, and 2 times on the chain", func(e *evidence) { e.chain[2].deed = "0x01" }},
		{"a gap", "nonce 3 follows 2 others", func(e *evidence) { e.chain[2].nonce = 3 }},
		{"a nonce twice", "nonce 1 follows 2 others", func(e *evidence) { e.chain[2].nonce = 1 }},
		{"a foreign hash", "0xc, nonce 2, is on the chain and not in the database", func(e *evidence) { delete(e.stored, "0xc") }},
		{"cancelled and done", "three is cancelled, and 1 times on the chain", func(e *evidence) { e.chain[1].deed = "0x03" }},
		{"rejected and done", "four is rejected, and 1 times on the chain", func(e *evidence) { e.chain[1].deed = "0x04" }},
		{"nobody's wish", "0x77 is 1 times on the chain, and nobody wished it", func(e *evidence) { e.chain[1].deed = "0x77" }},
		{"no effect", "0xa, nonce 0, had no effect", func(e *evidence) { e.chain[0].reverted = true }},
		{"acknowledged and lost", "one was acknowledged and is lost", func(e *evidence) { delete(e.promises, "one") }},
		{"acknowledged as another", "two was acknowledged and is lost", func(e *evidence) { e.asked["two"] = "0x05" }},
		{"never ended", "two never ended: it is open", func(e *evidence) { e.promises["two"] = promise{"0x02", "open"} }},
		{"a count that is not what it shows", "the chain counts 4 transactions and shows 3", func(e *evidence) { e.count = 4 }},
	} {
		e := sound()
		c.spoil(&e)
		found := strings.Join(e.faults(), "\n")
		if (c.says == "") != (found == "") || !strings.Contains(found, c.says) {
			t.Errorf("%s: %q", c.name, found)
		}
	}
}
