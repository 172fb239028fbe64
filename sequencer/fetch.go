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
	if len(c.book.Missing()) < lacked && c.forgone { // what has spent their states may be among what was given up
		c.reconcile(c.book.States(), nil)
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
		c.lacks, c.despairAt, c.despairPause = nil, 0, 0
		return
	}
	c.fetchAt = c.n.now() + betweenAsks
	if c.lacks == nil {
		c.lacks = lacks{}
	}
	members := slices.DeleteFunc(slices.Clone(c.set.Declared.Members), func(a ledger.Account) bool { return a == c.n.cfg.Self })
	due := c.lacks.turn(missing, len(members), c.n.now())
	if len(due) == 0 {
		return
	}
	c.despair(missing, len(members))
	names := map[ledger.Account][]ledger.Hash{}
	var mine []ledger.Hash
	for _, one := range due {
		mine = append(mine, one.Assembled)
		if len(members) > 0 {
			to := one.whom(members)
			names[to] = append(names[to], one.Assembled)
		}
	}
	c.n.apart(func() { // an earlier start may have had them
		if stored, err := c.n.cfg.Store.Attempts(c.n.ctx, c.address(), mine); err == nil && len(stored) > 0 {
			c.n.post(func() { c.hear(stored) })
		}
	})
	for _, to := range sortedAccounts(names) {
		c.requests++
		c.n.encode(to, wire.Message{
			Contract: c.address(), Wait: time.Second, Body: wire.AskAttempts{Assembled: names[to]},
			Request: wire.RequestID{Incarnation: c.n.fetches, Number: c.requests},
		})
	}
}

// despair asks the ledger about attempts for which all members were asked in vain: ever more seldom, since it is asked for all states.
func (c *contract) despair(missing []book.Missing, members int) {
	var vain []book.Missing
	asks := false
	for _, m := range missing {
		tries := c.lacks[m.Assembled].tries
		asks = asks || tries >= members+beyond/2
		if tries >= members+beyond {
			vain = append(vain, m)
		}
	}
	if !asks || c.n.now() < c.despairAt {
		return
	}
	c.despairPause = min(2*c.despairPause+time.Second, mostPause)
	c.despairAt = c.n.now() + c.despairPause
	c.reconcile(c.book.States(), vain)
}
