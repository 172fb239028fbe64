package transactions

import (
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// kindTransaction names events of transactions on /v1/events, and is the parameter that selects those of one account.
const kindTransaction = "transaction"

// Event is what has happened to a transaction, and how it stood then.
type Event struct {
	At      time.Time  `json:"at"`
	ID      string     `json:"id"` // the transaction's
	Version uint64     `json:"version"`
	Event   string     `json:"event"`
	Account string     `json:"account"`
	Chain   string     `json:"chain"`
	Address string     `json:"address"`
	Fate    string     `json:"fate"`
	Outcome *string    `json:"outcome"`
	Nonce   *uint64    `json:"nonce"`
	Hash    *string    `json:"hash"`
	Block   *BlockName `json:"block"`
	Why     string     `json:"why,omitempty"`
}

func (n *news) show(chainID string, e pending.Event) Event {
	out := Event{
		At: e.At.UTC(), ID: idText(e.Intent), Version: e.Version, Event: string(e.Kind), Account: n.accounts.nameOf(accountID{chainID, e.Account}),
		Chain: chainID, Address: e.Account.String(), Fate: pending.Record{Fate: e.Fate, Index: e.Index}.Standing(), Nonce: e.Index, Why: e.Why,
	}
	if outcome := e.Outcome(); outcome != "" {
		out.Outcome = &outcome
	}
	if e.Hash != "" {
		out.Hash = new(e.Hash.String())
	}
	if e.Block.Hash != "" {
		out.Block = &BlockName{Number: e.Block.Number, Hash: e.Block.Hash.String()}
	}
	return out
}

// selects returns the name of the account that the caller of an event stream names, by which its events are told.
func (n *news) selects(named string) (string, error) {
	a, _, known := n.accounts.find(named)
	if !known {
		return "", web.Failf(http.StatusNotFound, "%v", errUnknownAccount).Named("unknown-account", "Unknown account").About(kindTransaction)
	}
	return a.Name, nil
}
