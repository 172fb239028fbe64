package transactions

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// Detailed is one transaction, with what is not in lists.
type Detailed struct {
	AsOf time.Time `json:"as_of"`
	Transaction
	Receipt        *Receipt  `json:"receipt"`                   // null until it is in a block, and while it is not known
	ReceiptUnknown string    `json:"receipt_unknown,omitempty"` // why it is in a block and has no receipt
	Attempts       []Attempt `json:"attempts"`                  // that were signed with its nonce, in this order
}

// Attempt is a transaction that was signed for a nonce.
type Attempt struct {
	Hash     string    `json:"hash"`
	Nonce    uint64    `json:"nonce"`
	MaxFee   *string   `json:"max_fee"`
	MaxTip   *string   `json:"max_tip"`
	Gas      uint64    `json:"gas"`
	Filler   bool      `json:"filler"`    // it does nothing but use the nonce
	SignedAt time.Time `json:"signed_at"` // and stored: it was not sent before
	InBlock  bool      `json:"in_block"`
	Error    string    `json:"error,omitempty"` // of the newest one, while none is in a block
}

// getAttempts answers with what was signed for a transaction, and asks no endpoint.
func (a *api) getAttempts(w http.ResponseWriter, r *http.Request) error {
	at := time.Now()
	t, err := a.look(r)
	if err != nil {
		return err
	}
	d, err := a.detail(r, t, at)
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf     time.Time `json:"as_of"`
		Attempts []Attempt `json:"attempts"`
	}{d.AsOf, d.Attempts})
}

// detail adds to a transaction, as it was read at an instant, its attempts and what it did.
func (ts *transactions) detail(ctx context.Context, t Transaction, at time.Time) (d Detailed, err error) {
	d = Detailed{AsOf: at.UTC(), Transaction: t, Attempts: []Attempt{}}
	r := t.record
	if r.Index == nil {
		return d, nil
	}
	kept := ts.accounts.storeOf(t.Chain)
	if kept == nil {
		return d, errUnknown // a reload has taken the chain out
	}
	all, err := kept.Attempts(ctx, r.Account, *r.Index)
	for i, one := range all {
		attempt := Attempt{
			Hash: one.Hash.String(), Nonce: *r.Index - r.First, MaxFee: amount(one.Fee.Max), MaxTip: amount(one.Fee.Tip), Gas: one.Gas, Filler: one.Filler,
			SignedAt: one.Signed.UTC(), InBlock: r.Last.Block.Hash != "" && one.Hash == r.Last.Hash,
		}
		if r.Fate == pending.Open && r.Last.Block.Hash == "" && i == len(all)-1 {
			attempt.Error = fmt.Sprintf(harmless, cli.Inert(r.Last.Waits))
		}
		d.Attempts = append(d.Attempts, attempt)
	}
	return d, err
}

func amount(n *big.Int) *string {
	if n == nil {
		return nil
	}
	return new(n.String())
}
