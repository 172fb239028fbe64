//go:build unix

package demo

import (
	"context"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgaccount"
	"github.com/conchhq/conch/election/pgops"
)

// settleMost bounds how long everything acknowledged may take to end, once customers
// want nothing more and nobody is killed any more.
const settleMost = 30 * time.Second

// traffic is what the supervisor knows of the transactions: customers, and how far
// the database says that their wishes are.
type traffic struct {
	customers *customers
	account   *pgaccount.Reader
	open      bool // customers were let in

	row      pgops.ScopeStatus // of the account, as last read
	progress pgaccount.Progress
	sender   int64     // the epoch whose first transaction was seen
	killedAt time.Time // when the last sender was killed
	killed   int64     // and its epoch
	failover time.Duration
}

func newTraffic(p *place, c *crew) *traffic {
	var sockets []string
	for _, m := range c.nodes {
		sockets = append(sockets, p.socket(m.number))
	}
	return &traffic{customers: newCustomers(sockets), account: p.account}
}

// begin lets the customers in.
func (t *traffic) begin(ctx context.Context) {
	t.open = true
	t.customers.open(ctx)
}

// read looks how far everything is, and says who sends, once it has.
func (t *traffic) read(ctx context.Context, row pgops.ScopeStatus, v *view) (err error) {
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
		v.note("%s sends (epoch %d)", row.Holder, row.Epoch)
		return nil
	}
	t.failover = first.Sub(t.killedAt)
	v.note("%s sends (epoch %d), its first transaction was stored %s after the kill", row.Holder, row.Epoch, t.failover.Round(100*time.Microsecond))
	return nil
}

// struck notes that whoever sends was killed.
func (t *traffic) struck(at time.Time) { t.killedAt, t.killed = at, t.row.Epoch }

// sends tells whether a node leads the account and has sent in this term.
func (t *traffic) sends(m *member) bool {
	return m.process != nil && !m.doomed && t.row.Held && t.row.Holder == m.id && t.row.Epoch == t.sender && t.sender > t.killed
}

// answered tells whether no customer waits any more; it is only asked once they were told
// to want nothing more.
func (t *traffic) answered() bool {
	select {
	case <-t.customers.over:
		return true
	default:
		return !t.open
	}
}

// settle has the customers want nothing more.
func (t *traffic) settle() {
	if t.open {
		t.customers.asking()
	}
}
