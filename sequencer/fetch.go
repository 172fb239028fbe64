package sequencer

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// hear takes the contents of attempts.
func (c *contract) hear(all []wire.Whole) {
	lacked := len(c.book.Missing())
	for _, w := range all {
		_, _ = c.book.Hear(w) // what makes no sense is not taken
	}
	if len(c.book.Missing()) < lacked {
		c.patience = 0
		if c.forgone { // what has spent their states may be among what was given up
			c.reconcile(c.book.States(), nil)
		}
	}
	c.keep()
}

// fetch asks members for attempts that have landed and whose contents the node lacks: their owner, then the others in
// turn. What nobody has any more may have spent states that seem to be there: the ledger says which. It also says whether
// a state is left for which somebody might need the contents: if none is, nobody is asked any more.
func (c *contract) fetch() {
	if c.n.now() < c.fetchAt {
		return
	}
	missing := c.book.Missing()
	if len(missing) == 0 {
		c.patience, c.asked = 0, 0
		return
	}
	first := c.patience == 0
	some := c.turnOf(missing)
	members := slices.DeleteFunc(slices.Clone(c.set.Declared.Members), func(a ledger.Account) bool { return a == c.n.cfg.Self })
	lacks := map[ledger.Account][]ledger.Hash{}
	var mine []ledger.Hash
	for i, m := range some {
		mine = append(mine, m.Assembled)
		switch {
		case first && m.Owner != c.n.cfg.Self:
			lacks[m.Owner] = append(lacks[m.Owner], m.Assembled)
		case len(members) > 0:
			to := members[(i+int(c.requests))%len(members)]
			lacks[to] = append(lacks[to], m.Assembled)
		}
	}
	c.n.apart(func() { // an earlier start may have had them
		if stored, err := c.n.cfg.Store.Attempts(c.n.ctx, c.address(), mine); err == nil && len(stored) > 0 {
			c.n.post(func() { c.hear(stored) })
		}
	})
	for _, to := range sortedAccounts(lacks) {
		c.requests++
		c.n.encode(to, wire.Message{
			Contract: c.address(), Wait: time.Second, Body: wire.AskAttempts{Assembled: lacks[to]},
			Request: wire.RequestID{Incarnation: c.n.fetches, Number: c.requests},
		})
	}
}

// turnOf returns those of the missing attempts that are asked for now, and says when the next ones are. Each has its turn: what landed
// first may be what nobody has any more. After a round the pause grows, and the ledger is asked.
func (c *contract) turnOf(missing []book.Missing) (some []book.Missing) {
	if c.asked >= len(missing) {
		c.asked = 0
	}
	some = missing[c.asked:min(c.asked+mostLacked, len(missing))]
	if c.asked += len(some); c.asked < len(missing) {
		c.fetchAt = c.n.now() + betweenTurns
		return some
	}
	c.patience = min(2*c.patience+500*time.Millisecond, time.Minute)
	c.fetchAt = c.n.now() + c.patience
	switch {
	case c.patience > mostAsking:
		c.reconcile(c.book.States(), missing)
	case c.patience > 3*time.Second:
		c.reconcile(c.book.States(), nil)
	}
	return some
}

// mostLacked is how many attempts are asked for at once; the next ones come so long after.
const (
	mostLacked   = 1000
	betweenTurns = 500 * time.Millisecond
)

// mostAsking is the pause after which attempts are given up that nobody needs: by then all were asked for several times.
const mostAsking = 10 * time.Second
