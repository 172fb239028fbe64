package sequencer

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// offerEvery is how long a member has to say that it keeps what it was offered; then another one is asked. It has twice as
// long each time, up to eight times: where nobody answers, contents are not sent ever again.
const (
	offerEvery   = 500 * time.Millisecond
	offerDoubles = 3
)

// sharing is an attempt of this node that has landed, and whose contents perhaps nobody else has: it has coordinated it itself.
// Its user is told that it is done when another member has stored them (Q14).
type sharing struct {
	sender.Share
	whole *wire.Whole // nil until it is read
	began time.Duration
	next  time.Duration // when to offer it again
	tries int
	asks  []uint64 // the numbers of the requests
}

// share begins to offer contents to the members.
func (c *contract) share(a sender.Share) {
	s := &sharing{Share: a, began: c.n.now()}
	c.shares = append(c.shares, s)
	if w, is := c.book.Whole(a.Assembled); is {
		s.whole = &w
		return
	}
	c.n.apart(func() { // an earlier start had them in memory
		if stored, err := c.n.cfg.Store.Attempts(c.n.ctx, c.address(), []ledger.Hash{a.Assembled}); err == nil && len(stored) == 1 {
			c.n.post(func() { s.whole = &stored[0] })
		}
	})
}

// offer sends contents to one member after the other, those first that were heard last, until one keeps them or the time is over.
func (c *contract) offer() {
	if len(c.shares) == 0 {
		return
	}
	now, members := c.n.now(), c.byHearing()
	_, final := c.book.Height()
	batches := map[ledger.Account][]*sharing{}
	c.settle(func(s *sharing) bool {
		if now-s.began < c.n.cfg.ShareFor || s.Block > final { // before, nobody waits
			return false
		}
		c.n.alone.Add(1)
		if c.place.alone.meets(now) {
			c.n.cfg.Log.Warn("no other member has said that it keeps the contents of a transaction: if this database is lost, its states are; those that follow are counted",
				"contract", c.address(), "attempt", s.Assembled.String())
		}
		return true
	})
	for _, s := range c.shares {
		if s.whole != nil && now >= s.next {
			to := members[s.tries%len(members)]
			batches[to] = append(batches[to], s)
			s.tries, s.next = s.tries+1, now+offerEvery<<min(s.tries, offerDoubles)
		}
	}
	for _, to := range sortedAccounts(batches) {
		c.push(to, batches[to])
	}
}

// push sends contents in as many messages as they need.
func (c *contract) push(to ledger.Account, all []*sharing) {
	for len(all) > 0 {
		some := all
		for c.requests++; ; some = some[:(len(some)+1)/2] { // most often all have room
			msg := wire.Message{Contract: c.address(), Wait: offerEvery, Request: wire.RequestID{Incarnation: c.n.fetches, Number: c.requests}}
			var body wire.Attempts
			for _, s := range some {
				body.Attempts = append(body.Attempts, *s.whole)
			}
			if msg.Body = body; wire.Fits(msg) || len(some) == 1 {
				c.n.encode(to, msg)
				break
			}
		}
		for _, s := range some {
			s.asks = append(s.asks, c.requests)
		}
		all = all[len(some):]
	}
}

// byHearing returns the other members, the one that was heard last first.
func (c *contract) byHearing() []ledger.Account {
	others := slices.DeleteFunc(slices.Clone(c.set.Declared.Members), func(a ledger.Account) bool { return a == c.n.cfg.Self })
	slices.SortStableFunc(others, func(a, b ledger.Account) int { return c.place.heard[b].At.Compare(c.place.heard[a].At) })
	return others
}

// kept says that a member has stored what it was sent.
func (c *contract) kept(number uint64) {
	if !c.settle(func(s *sharing) bool { return slices.Contains(s.asks, number) }) {
		return
	}
	if lasted, times := c.place.alone.ends(c.n.now()); times > 0 {
		c.n.cfg.Log.Info("another member keeps the contents of transactions again", "contract", c.address(), "after", lasted, "transactions", times)
	}
}

// settle ends what is over, and reports whether anything was.
func (c *contract) settle(over func(*sharing) bool) bool {
	var ended []*sharing
	c.shares = slices.DeleteFunc(c.shares, func(s *sharing) bool {
		is := over(s)
		if is {
			ended = append(ended, s)
		}
		return is
	})
	for _, s := range ended {
		c.toSender(sender.Shared{Sequence: s.Sequence, Assembled: s.Assembled})
	}
	return len(ended) > 0
}

// keepFor takes contents that a member offers, and answers when they are stored, which is so once they have landed here too.
func (c *contract) keepFor(from ledger.Account, msg wire.Message, offered wire.Attempts) {
	n := c.n
	if !slices.Contains(c.set.Declared.Members, from) {
		n.reject(from, msg, wire.NotMember)
		return
	}
	if n.serving[from] == mostServed || n.reads == mostReads {
		n.reject(from, msg, wire.Busy)
		return
	}
	n.serving[from]++
	n.reads++
	c.hear(offered.Attempts)
	var names []ledger.Hash
	for _, w := range offered.Attempts {
		names = append(names, c.set.Scheme.Assembled(c.set.Declared, w.Attempt))
	}
	c.store(Change{}, func([]ledger.Sequence) { // behind what the book has just told
		n.apart(func() {
			defer n.post(func() {
				n.serving[from]--
				n.reads--
			})
			stored, err := n.cfg.Store.Attempts(n.ctx, c.address(), names)
			if err == nil && len(stored) == len(names) {
				n.encode(from, wire.Message{Contract: c.address(), Request: msg.Request, Body: wire.Noted{}})
			}
		})
	})
}
