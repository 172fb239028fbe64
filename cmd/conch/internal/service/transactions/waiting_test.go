package transactions

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// W17: whatever state a transaction is in, the API says what it waits for until it has ended.
func TestWhatATransactionWaitsFor(t *testing.T) {
	t.Parallel()
	self, other, nonce := pending.ID{1}, pending.ID{2}, uint64(7)
	at := time.Unix(9, 0)
	blocked := pending.Hold{Intent: other, Why: "it cannot pay"}
	for name, c := range map[string]struct {
		record pending.Record
		want   string
	}{
		"queued":              {pending.Record{}, "a nonce"},
		"held by itself":      {pending.Record{Hold: pending.Hold{Intent: self, Why: "it cannot pay"}, HoldSince: at}, "it cannot pay since 9"},
		"behind another":      {pending.Record{Hold: blocked, HoldSince: at}, "behind transaction " + idText(other) + ": it cannot pay at " + idText(other) + " since 9"},
		"since an unknown":    {pending.Record{Hold: blocked}, "behind transaction " + idText(other) + ": it cannot pay at " + idText(other)},
		"the whole account":   {pending.Record{Hold: pending.Hold{Why: "strange: rows may be lost"}}, "strange: rows may be lost"},
		"signed":              {pending.Record{Index: &nonce}, "a block"},
		"in a pool":           {pending.Record{Index: &nonce, Last: pending.Change{Status: pending.Broadcast}}, "a block"},
		"taken back":          {pending.Record{Index: &nonce, Last: pending.Change{Status: pending.Retracted}}, "a block"},
		"in a block":          {pending.Record{Index: &nonce, Last: pending.Change{Status: pending.InBlock}}, "finality"},
		"late":                {pending.Record{Index: &nonce, Last: pending.Change{Status: pending.FinalityTimeout}}, "finality"},
		"an alarm":            {pending.Record{Index: &nonce, Last: pending.Change{Waits: "fees: allowed is 1"}, Hold: blocked}, "fees: allowed is 1"},
		"done":                {pending.Record{Index: &nonce, Fate: pending.Done, Last: pending.Change{Status: pending.Finalized, Waits: "old"}}, "nothing"},
		"cancelled":           {pending.Record{Fate: pending.Cancelled, Hold: blocked}, "nothing"},
		"rejected in no slot": {pending.Record{Fate: pending.Rejected}, "nothing"},
	} {
		c.record.ID = self
		got := "nothing"
		if w := waitingFor(c.record); w != nil {
			got = w.Reason
			if w.Intent != "" {
				got += " at " + w.Intent
			}
			if w.Since != nil {
				got += fmt.Sprintf(" since %d", w.Since.Unix())
			}
		}
		if got != c.want {
			t.Errorf("%s: got it waiting for %q, want %q", name, got, c.want)
		}
	}
}

// W2: the two endpoints that called a transaction final are shown once it is.
func TestWitnessesAreShownAtTheEnd(t *testing.T) {
	t.Parallel()
	two := [2]string{"https://a", "https://b"}
	for _, c := range []struct {
		last pending.Change
		want int
	}{
		{pending.Change{Status: pending.Finalized, Witnesses: two}, 2},
		{pending.Change{Status: pending.Usurped, Witnesses: two}, 2},
		{pending.Change{Status: pending.Finalized}, 0}, // by an earlier version
		{pending.Change{Status: pending.Retracted, Witnesses: two}, 0},
		{pending.Change{}, 0},
	} {
		if got := witnesses(pending.Record{Last: c.last}); len(got) != c.want {
			t.Errorf("of %+v: got witnesses %q, want %d", c.last, got, c.want)
		}
	}
}

// A queued transaction is shown behind the one that holds up its account, alone and in a list.
func TestTheQueueSaysWhatHoldsItUp(t *testing.T) {
	t.Parallel()
	var beside sync.WaitGroup
	frame := node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: t.Context(), Go: beside.Go}
	s := newService(frame, nil)
	account := Account{Name: "payer", Address: "an account of 20 byt", Chain: Chain{Name: "dev", Kind: KindEVM, ChainID: 1}}
	use, err := s.accounts.prepare([]Account{account})
	if err != nil {
		t.Fatal(err)
	}
	use()
	store := s.accounts.store(account.Chain)
	var ids []pending.ID
	for _, key := range []string{"poor", "next"} {
		in, err := store.Accept(t.Context(), pending.Intent{Account: account.Address, Key: key, Call: chain.Call{To: []byte("somebody")}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, in.ID)
	}
	err = store.Write(t.Context(), fence.Token{}, pending.Batch{Account: account.Address, Number: 1, Hold: &pending.Hold{Intent: ids[0], Why: "it cannot pay"}})
	if err != nil {
		t.Fatal(err)
	}
	next, err := s.transactions.get(t.Context(), idText(ids[1]))
	if err != nil || next.WaitingFor == nil || next.WaitingFor.Intent != idText(ids[0]) || !strings.HasPrefix(next.WaitingFor.Reason, "behind transaction") {
		t.Errorf("got %+v, error %v; want it behind the first transaction", next, err)
	}
	all, _, err := s.transactions.list(t.Context(), Selection{Filter: pending.Filter{Most: 9}})
	if err != nil || len(all) != 2 {
		t.Fatalf("got %+v, error %v; want both transactions", all, err)
	}
	first := slices.IndexFunc(all, func(one Transaction) bool { return one.ID == idText(ids[0]) })
	if w := all[first].WaitingFor; w == nil || w.Reason != "it cannot pay" || w.Intent != "" {
		t.Errorf("got the first one waiting for %+v, want its own reason", w)
	}
}

// W17: a transaction that others pass has its own reason, whatever holds up the account.
func TestWhatIsPutOffSaysWhy(t *testing.T) {
	t.Parallel()
	since, until := time.Unix(9, 0).UTC(), time.Unix(99, 0).UTC()
	me, other := pending.ID{1}, pending.ID{2}
	off := pending.Refusal{Cause: pending.Funds, Why: "no money", Times: 3, Since: since, Until: until}
	tried := pending.Refusal{Cause: pending.Refused, Why: "it reverts", Times: 2, Since: since}
	for name, c := range map[string]struct {
		refusal pending.Refusal
		hold    pending.Hold
		want    Waiting
	}{
		"put off":                           {off, pending.Hold{}, Waiting{Reason: "no money", Refusals: 3, Since: &since, Until: &until}},
		"put off, and the account waits":    {off, pending.Hold{Why: "fees"}, Waiting{Reason: "no money", Refusals: 3, Since: &since, Until: &until}},
		"its turn to save":                  {off, pending.Hold{Intent: me, Why: "still no money"}, Waiting{Reason: "still no money", Refusals: 3}},
		"the first in strict order":         {tried, pending.Hold{Intent: me, Why: "it reverts now"}, Waiting{Reason: "it reverts now", Refusals: 2}},
		"tried, and then the account waits": {tried, pending.Hold{Why: "fees"}, Waiting{Reason: "fees"}},
		"tried":                             {tried, pending.Hold{}, Waiting{Reason: "it reverts", Refusals: 2, Since: &since}},
		"behind one that is tried":          {pending.Refusal{}, pending.Hold{Intent: other, Why: "no"}, Waiting{Reason: "behind transaction " + idText(other) + ": no", Intent: idText(other)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := waitingFor(pending.Record{Intent: pending.Intent{ID: me}, Refusal: c.refusal, Hold: c.hold})
			if got == nil || !reflect.DeepEqual(*got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// conch tx show prints what a transaction waits for, and at its end who saw it.
func TestShowSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	since := time.Unix(9, 0)
	for _, c := range []struct {
		shown     Transaction
		want, not string
	}{
		{Transaction{WaitingFor: &Waiting{Reason: "a nonce"}}, "waits    a nonce\n", "final by"},
		{Transaction{WaitingFor: &Waiting{Reason: "it cannot pay", Since: &since}}, "waits    it cannot pay (since ", "final by"},
		{Transaction{WaitingFor: &Waiting{Reason: "odd words", Since: &since, Refusals: 3, Until: &since}}, "refused 3 times, tried again at ", "final by"},
		{Transaction{Witnesses: []string{"https://a", "https://b"}}, "final by https://a and https://b\n", "waits"},
		{Transaction{Witnesses: []string{"https://a", "https://a"}}, "final by https://a, asked twice\n", "waits"},
	} {
		var out bytes.Buffer
		if err := newShell(&cli.Shell{World: cli.World{Stdout: &out}}).show(nil, Detailed{Transaction: c.shown}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, c.want) || strings.Contains(got, c.not) {
			t.Errorf("got %s\nwant it to say %q and not %q", got, c.want, c.not)
		}
	}
}
