package pgstore_test

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// One statement names those of a thousand accounts that have something to do.
func TestWaitingOfAThousandAccounts(t *testing.T) {
	t.Parallel()
	s, d := openShelf(t).narrow()
	run(t, s.conn, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator)
		SELECT gen_random_uuid(), 'evm:1', decode('aa', 'hex'), '', 0, '', 0, 'test' FROM generate_series(1, 3000)`)
	var accounts []pgstore.Account
	for i := range 1000 {
		accounts = append(accounts, pgstore.Account{Chain: "evm:1", Account: chain.Account(fmt.Sprint("account ", i))})
	}
	wait := func(i int, id string) pending.Intent {
		in, err := d.Store(id, "test").Accept(t.Context(), pending.Intent{Account: accounts[i].Account, Call: chain.Call{Gas: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	wait(7, "evm:1")
	wait(8, "evm:2") // on another chain
	done := wait(9, "evm:1")
	if err := d.Store("evm:1", "test").Cancel(t.Context(), done.ID); err != nil {
		t.Fatal(err)
	}
	accounts = append(accounts, pgstore.Account{Chain: "evm:1", Account: "\xaa"})
	run(t, s.conn, `ANALYZE conch.intents`)
	got, err := d.Waiting(t.Context(), accounts)
	if err != nil || fmt.Sprint(got) != fmt.Sprint([]pgstore.Account{accounts[7], accounts[1000]}) {
		t.Errorf("got %v, error %v; want accounts 7 and 1000", got, err)
	}
	slotted := wait(11, "evm:1")
	run(t, s.conn, `UPDATE conch.intents SET nonce = 0, cancel = true WHERE id = '`+fmt.Sprintf("%x", slotted.ID)+`'`)
	got, err = d.Waiting(t.Context(), accounts[10:20])
	if err != nil || fmt.Sprint(got) != fmt.Sprint(accounts[11:12]) {
		t.Errorf("with one to be cancelled: got %v, error %v; want account 11", got, err)
	}
	for i, until := range []string{"-1 second", "30 seconds", "1 day"} { // the last one by a clock that was ahead
		run(t, s.conn, fmt.Sprintf(`UPDATE conch.intents SET refusals = 1, held_until = clock_timestamp() + interval '%s' WHERE id = '%x'`, until, wait(20+i, "evm:1").ID))
	}
	got, err = d.Waiting(t.Context(), accounts[20:30])
	if err != nil || fmt.Sprint(got) != fmt.Sprint([]pgstore.Account{accounts[20], accounts[22]}) {
		t.Errorf("with some put off: got %v, error %v; want accounts 20 and 22", got, err)
	}
}
