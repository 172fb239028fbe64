//go:build unix

package demo

import (
	"context"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/election/pgops"
)

// settleMost bounds the wait for acknowledged requests to end, after the last request and
// the last kill.
const settleMost = 30 * time.Second

// traffic is the supervisor's view of the transactions: the customers, and how far the
// database has their requests.
type traffic struct {
	customers *customers
	account   *pgaccount.Reader
	shop      *receiver
	open      bool // the customers were started

	row      pgops.ScopeStatus // of the account, as last read
	progress pgaccount.Progress
	sender   int64     // epoch whose first transaction was seen
	killedAt time.Time // when the last sender was killed
	killed   int64     // epoch of the last sender that was killed
	failover time.Duration
}

func newTraffic(backing *servers, nodes []*member) *traffic {
	var sockets []string
	for _, m := range nodes {
		sockets = append(sockets, backing.socket(m.number))
	}
	return &traffic{customers: newCustomers(sockets), account: backing.account, shop: backing.shop}
}

func (t *traffic) begin(ctx context.Context) {
	t.open = true
	t.customers.start(ctx)
}

// read updates the progress, and notes a new sender once it has stored a transaction.
func (t *traffic) read(ctx context.Context, row pgops.ScopeStatus, show *screen.Screen) (err error) {
	t.row = row
	if t.progress, err = t.account.Progress(ctx); err != nil {
		return err
	}
	if !row.Held || row.Epoch <= max(t.sender, t.killed) {
		return nil
	}
	first, err := t.account.FirstSince(ctx, row.AcquiredAt)
	if err != nil || first.IsZero() {
		return err
	}
	t.sender = row.Epoch
	if t.killed == 0 {
		show.Note("%s leads %q (epoch %d) and sends", row.Holder, PayerScope, row.Epoch)
		return nil
	}
	t.failover = first.Sub(t.killedAt)
	show.Note("%s leads %q (epoch %d) and sends: its first transaction was stored %s after the kill", row.Holder, PayerScope, row.Epoch, t.failover.Round(100*time.Microsecond))
	return nil
}

func (t *traffic) struck(at time.Time) { t.killedAt, t.killed = at, t.row.Epoch }

// sends reports whether a node leads the account and has sent in this term.
func (t *traffic) sends(m *member) bool {
	return m.Runs() && t.row.Held && t.row.Holder == m.Name && t.row.Epoch == t.sender && t.sender > t.killed
}

// answered reports whether no customer waits for an answer. It is meaningful after settle.
func (t *traffic) answered() bool {
	select {
	case <-t.customers.over:
		return true
	default:
		return !t.open
	}
}

// ended reports whether every accepted transaction has ended, and the receiver of webhooks knows.
func (t *traffic) ended() bool {
	return t.progress.Open == 0 && t.shop.ends() >= t.progress.Intents
}

func (t *traffic) settle() {
	if t.open {
		t.customers.stopAsking()
	}
}
