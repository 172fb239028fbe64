//go:build unix

package main_test

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// The chain shows whether every accepted intent was done once. The database shows only what was
// accepted and stored. Package evidence judges both, as for `conch demo`.

// deed returns what a call does. Tests give each intent its own, by which it is found in the chain.
func deed(to, value, data string) string { return evidence.Deed(to, value, data) }

// longPatience allows for many transactions on a busy machine.
const longPatience = 3 * patience

// judge waits until all intents in the database have ended, and compares it with the chain. Every
// acknowledged ID must be done. Foreign has the hashes that the test itself sent from the account.
func judge(t testing.TB, chain *devnode, db string, asked map[string]string, foreign ...string) {
	t.Helper()
	judgeRevoked(t, chain, db, asked, nil, foreign...)
}

// judgeRevoked is judge, but some acknowledged IDs may be cancelled or rejected.
func judgeRevoked(t testing.TB, chain *devnode, db string, asked map[string]string, revoked []string, foreign ...string) {
	t.Helper()
	tables := readTables(t, db)
	open := -1
	defer func() {
		if t.Failed() {
			t.Logf("%d intents were acknowledged, and %d in the database are open", len(asked), open)
		}
	}()
	pgtest.Eventually(t, longPatience, "everything accepted has ended", chain.ending(func() bool {
		open = openIntents(t, tables)
		return open == 0
	}))
	// A chain that has gone back may lack final transactions for a while. A duplicate stays.
	var a evidence.Account
	var faults []string
	settled := time.NewTimer(patience)
	defer settled.Stop()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for more := true; more; {
		a = evidence.Account{Foreign: foreign}
		if faults = gather(t, chain, tables, asked, revoked, &a); len(faults) == 0 {
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
	t.Logf("%d acknowledged, %d in the database; %d transactions on the chain", len(asked), len(a.Intents), len(a.Mined))
}

// gather reads the chain and the database, and returns the faults. An intent that the database
// has and that was not acknowledged counts as a request, too.
func gather(t testing.TB, chain *devnode, tables *pgaccount.Reader, asked map[string]string, revoked []string, a *evidence.Account) (faults []string) {
	t.Helper()
	// The chain first: what is in it was stored before.
	if err := explorer.Read(t.Context(), chain.url, fundedAddress, a); err != nil {
		return []string{err.Error()}
	}
	if err := tables.Left(t.Context(), accountScope, a); err != nil {
		t.Fatal(err)
	}
	for id, does := range asked {
		a.Requests = append(a.Requests, evidence.Request{Key: id, Deed: does, IDs: []string{id}, Revocable: slices.Contains(revoked, id)})
	}
	for _, in := range a.Intents {
		if _, heard := asked[in.ID]; !heard {
			a.Requests = append(a.Requests, evidence.Request{Key: in.ID, Deed: in.Deed})
		}
	}
	return evidence.JudgeAccount(*a).Faults
}

// readTables opens the account's tables in the database until the test ends.
func readTables(t testing.TB, db string) *pgaccount.Reader {
	t.Helper()
	r, err := pgaccount.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(context.Background()) })
	return r
}

// openIntents counts the intents that have not ended; -1: unknown.
func openIntents(t testing.TB, tables *pgaccount.Reader) int {
	t.Helper()
	p, err := tables.Progress(t.Context())
	if err != nil {
		return -1
	}
	return p.Open
}

// history returns the funded account's transactions in the chain.
func (d *devnode) history() []evidence.Mined {
	d.t.Helper()
	var a evidence.Account
	if err := explorer.Read(d.t.Context(), d.url, fundedAddress, &a); err != nil {
		d.t.Fatal(err)
	}
	return a.Mined
}

// quantity parses a number as nodes write it.
func quantity(t testing.TB, said any) *big.Int {
	t.Helper()
	text, _ := said.(string)
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	if !ok {
		t.Fatalf("got %v, want a number in hexadecimal", said)
	}
	return n
}

func number(t testing.TB, said any) uint64 {
	t.Helper()
	return quantity(t, said).Uint64()
}
