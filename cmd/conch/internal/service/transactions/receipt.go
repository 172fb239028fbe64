package transactions

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending"
)

// receiptSoon is when endpoints are asked again for a receipt that they did not have: a second one may be a block behind.
const receiptSoon = time.Second

// Receipt is what a transaction did in its block, as two endpoints say.
type Receipt struct {
	Status    string   `json:"status"`
	GasUsed   uint64   `json:"gas_used"`
	GasPrice  string   `json:"effective_gas_price"`
	Fee       string   `json:"fee"`
	Contract  *string  `json:"contract_address"` // null unless it created one
	Logs      []Log    `json:"logs"`
	LogsCut   bool     `json:"logs_cut"`
	LogCount  int      `json:"log_count"` // with those that are cut
	Witnesses []string `json:"witnesses"`
}

// Log is what a contract has told while the transaction was carried out.
type Log struct {
	Address string   `json:"address"`
	Topics  []string `json:"topics"`
	Data    string   `json:"data"`
}

// witnessed is the receipt of a transaction, or why there is none.
type witnessed struct {
	receipt *Receipt
	unknown string
}

// newReceipts finds out what transactions did: of a transaction that is in a block and may leave it, and of a final one. The chain is
// asked each time for the very block that the row names, so nothing that happened in another block is shown.
func newReceipts(ask func(ctx context.Context, c Chain, in chain.Inclusion) (chain.Receipt, error)) *findings[witnessed] {
	return newFindings(func(ctx context.Context, a Account, r pending.Record) (found finding[witnessed]) {
		in := chain.Inclusion{Account: r.Account, Index: *r.Index - r.First, Hash: r.Last.Hash, Block: r.Last.Block, Effect: r.Last.Effect}
		receipt, err := ask(ctx, a.Chain, in)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			found.is.unknown, found.after = errSilent.Error(), findAgain
		case err != nil:
			found.is.unknown, found.after = fmt.Sprintf(harmless, cli.Inert(err.Error())), receiptSoon
		default:
			found.is.receipt, found.bytes = showReceipt(receipt)
		}
		return found
	})
}

// showReceipt returns a receipt as it is shown, and about how many bytes it takes.
func showReceipt(r chain.Receipt) (out *Receipt, bytes int) {
	out = &Receipt{
		Status: pending.Record{Fate: pending.Done, Last: pending.Change{Effect: r.Effect}}.Outcome(), GasUsed: r.GasUsed, GasPrice: r.GasPrice.String(),
		Fee: r.Fee().String(), Logs: []Log{}, LogsCut: len(r.Logs) < r.AllLogs, LogCount: r.AllLogs, Witnesses: r.By[:],
	}
	if r.Created != "" {
		out.Contract = new(r.Created.String())
	}
	for _, l := range r.Logs {
		one := Log{Address: l.Address.String(), Topics: []string{}, Data: "0x" + hex.EncodeToString(l.Data)}
		bytes += 256 + len(one.Data)
		for _, t := range l.Topics {
			one.Topics = append(one.Topics, t.String())
			bytes += 128
		}
		out.Logs = append(out.Logs, one)
	}
	return out, bytes
}

// explain adds what a transaction did in its block, and why it has reverted, as far as that can be found out now.
func (ts *transactions) explain(ctx context.Context, d *Detailed) {
	r := d.record
	a, known := ts.accounts.someOf(d.Chain)
	if !known || r.Index == nil || r.Last.Hash == "" || r.Last.Block.Hash == "" {
		return
	}
	a.Address = r.Account
	var asking sync.WaitGroup
	if r.Outcome() == pending.Reverted {
		asking.Go(func() {
			why, err := ts.reasons.of(ctx, a, r)
			if err != nil {
				why = Revert{ReplayedAt: heightBefore(r), Unknown: err.Error()}
			}
			d.Revert = &why
		})
	}
	found, err := ts.receipts.of(ctx, a, r)
	if err != nil {
		found.unknown = err.Error()
	}
	d.Receipt, d.ReceiptUnknown = found.receipt, found.unknown
	asking.Wait()
}

// receipt asks the endpoints of a chain for a receipt.
func (s *service) receipt(ctx context.Context, c Chain, in chain.Inclusion) (chain.Receipt, error) {
	shared, release, err := s.chains.acquire(c, s.connect)
	if err != nil {
		return chain.Receipt{}, err
	}
	defer release()
	return chain.Witnessed(ctx, shared.driver, in)
}
