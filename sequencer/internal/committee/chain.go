package committee

import (
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/ledger"
)

// chain is the base ledger: a public pool, blocks, reorganisations, and perhaps no block at all while nothing is sent.
type chain struct {
	r       *run
	head    *model.Model // after the last block
	final   *model.Model // after the last final one
	blocks  []mined      // block n is at n-1
	pool    []*sent      // in the order in which they came
	known   map[string]*sent
	public  []ledger.Entry                   // for anybody to copy
	demand  bool                             // blocks are made only of something
	arrives map[ledger.Account]time.Duration // when the last one of an account arrives
	frozen  ledger.Account                   // whose transactions land no more
	facts   map[ledger.Hash][]landing
	past    past
}

// sent is a signed transaction. It is in the canonical chain once at most.
type sent struct {
	ledger.Sent
	key   string
	block uint64 // 0: it waits
	stuck time.Duration
	gone  bool // its submitter has given it up, and it never lands

	handed uint64 // the last block when it was
	copied bool   // somebody has sent it who has no right to it
	mined  bool   // once, perhaps in a block that was taken back
}

type mined struct {
	sent      []*sent
	facts     []ledger.Fact
	recreated []ledger.StateID // without the rule derived-ids
}

// landing is an intent that is in the chain.
type landing struct {
	ledger.Intent
	block uint64
}

// copies is how the keys begin of what somebody has copied.
const copies = "copy "

func newChain(r *run, c ledger.Contract, s ledger.Scheme) *chain {
	return &chain{r: r, head: model.New(c, s), final: model.New(c, s), known: map[string]*sent{}, arrives: map[ledger.Account]time.Duration{}, facts: map[ledger.Hash][]landing{}, past: newPast()}
}

// send puts a transaction into the pool, after a while. One that is known is not sent twice.
func (c *chain) send(key string, tx ledger.Sent) {
	if before := c.known[key]; before != nil && !before.gone {
		return
	}
	s := &sent{Sent: tx, key: key, handed: c.head.Number(), copied: strings.HasPrefix(key, copies)}
	c.known[key] = s
	if !c.r.quiet && c.r.w.Chance(c.r.odds.stuck) { // its price is too low, or a nonce before it is missing
		s.stuck = c.r.w.Now() + c.r.w.Between(blockTime, 30*blockTime)
	}
	if !c.r.quiet && c.r.odds.gone > 0 && c.r.w.Chance(c.r.odds.gone) { // it is rejected, or somebody cancels it
		c.r.Stats["given up"]++
		s.gone = true
		return
	}
	at := max(c.arrives[tx.By]+1, c.r.w.Now()+c.r.w.Between(time.Millisecond, blockTime/2)) // an account's keep their order
	c.arrives[tx.By] = at
	c.r.w.After(at-c.r.w.Now(), func() {
		c.pool = append(c.pool, s)
		c.public = append(c.public, tx.Entries...)
		if c.demand && s.stuck == 0 {
			c.r.w.After(blockTime/4, c.mineSome)
		} else if c.demand {
			c.r.w.After(s.stuck-c.r.w.Now(), c.mineSome)
		}
	})
}

// review returns those of the entries of a node that no transaction carries, and gives up what waits for its price or its
// nonce and has none of them.
func (c *chain) review(by ledger.Account, awaited []ledger.Entry) (lost []ledger.Entry) {
	carried := map[granted]bool{}
	for _, s := range c.known {
		for _, e := range s.Entries {
			carried[grantOf(e.Grant)] = carried[grantOf(e.Grant)] || !s.gone
		}
	}
	waits := map[granted]bool{}
	for _, e := range awaited {
		if waits[grantOf(e.Grant)] = true; !carried[grantOf(e.Grant)] {
			lost = append(lost, e)
		}
	}
	c.pool = slices.DeleteFunc(c.pool, func(s *sent) bool {
		if s.By != by || len(s.Entries) == 0 || s.stuck <= c.r.w.Now() || slices.ContainsFunc(s.Entries, func(e ledger.Entry) bool { return waits[grantOf(e.Grant)] }) {
			return false
		}
		c.r.Stats["withdrawn"]++
		s.gone = true
		return true
	})
	return lost
}

// granted is a grant as a key.
type granted struct {
	assembled, delegation ledger.Hash
	until                 uint64
}

func grantOf(g ledger.Grant) granted { return granted{g.Assembled, g.Delegation, g.ValidUntil} }

// spent reports whether an attempt in the canonical chain has spent a state.
func (c *chain) spent(id ledger.StateID) bool {
	_, is := c.past.spenders[id]
	return is
}

// each calls a function for each entry of a block, and what became of it.
func (m mined) each(do func(*sent, ledger.Entry, ledger.Fact)) {
	next := 0
	for _, s := range m.sent {
		for _, e := range s.Entries {
			do(s, e, m.facts[next])
			next++
		}
		if s.Cancel != nil {
			next++
		}
	}
}

// run makes blocks for ever.
func (c *chain) run() {
	if !c.demand {
		c.mine()
	}
	if !c.r.quiet && c.r.w.Chance(c.r.odds.reorganisation) {
		c.reorganise()
	}
	c.r.w.After(c.r.w.Between(blockTime*9/10, blockTime*11/10), c.run)
}

// mineSome makes a block if there is something for it.
func (c *chain) mineSome() {
	if slices.ContainsFunc(c.pool, func(s *sent) bool { return s.stuck <= c.r.w.Now() }) {
		c.mine()
	}
}

// mine makes a block of some of what waits. The transactions of one sender keep their order.
func (c *chain) mine() {
	var take, rest []*sent
	late := map[ledger.Account]bool{}
	for _, s := range c.pool {
		if s.stuck > c.r.w.Now() || late[s.By] || s.By == c.frozen || !c.r.quiet && !c.demand && c.r.w.Chance(0.1) {
			late[s.By] = true
			rest = append(rest, s)
			continue
		}
		take = append(take, s)
	}
	if !c.r.quiet && c.r.w.Chance(0.2) { // other senders may come first
		slices.SortStableFunc(take, func(a, b *sent) int { return c.r.rank[a.By] - c.r.rank[b.By] })
	}
	c.pool = rest
	c.add(take)
}

func (c *chain) add(take []*sent) {
	all := make([]ledger.Sent, len(take))
	for i, s := range take {
		all[i] = s.Sent
	}
	m := mined{sent: take, facts: c.head.Block(all...), recreated: c.recurring()}
	for _, id := range m.recreated {
		c.head.Recreate(id)
	}
	c.blocks = append(c.blocks, m)
	n := c.head.Number()
	c.r.words.block(n, m.facts)
	for _, f := range m.facts {
		if f.Skipped == ledger.Taken {
			c.facts[f.Payload] = append(c.facts[f.Payload], landing{f.Intent, n})
			c.r.judgeLanded(f, n)
		}
	}
	m.each(func(s *sent, e ledger.Entry, f ledger.Fact) {
		if f.Skipped != ledger.Taken {
			c.r.judgeSkipped(s, e, f)
		}
		if !s.copied || f.Skipped == ledger.Taken {
			c.past.mined(e, f, n)
		}
	})
	for _, s := range take {
		s.block, s.mined = n, true
	}
	for depth := c.r.contract.Depth; c.final.Number()+depth < n; {
		var again []ledger.Sent
		for _, s := range c.blocks[c.final.Number()].sent {
			again = append(again, s.Sent)
		}
		c.final.Block(again...)
		for _, id := range c.blocks[c.final.Number()-1].recreated {
			c.final.Recreate(id)
		}
	}
	c.r.publish(ledger.Block{Number: n, Facts: m.facts})
}

// recurring returns spent states that come back, where their names do not derive from what creates them.
func (c *chain) recurring() (back []ledger.StateID) {
	if c.r.broken != "derived-ids" || len(c.public) == 0 {
		return nil
	}
	for range 10 {
		e := c.public[c.r.w.Pick(len(c.public))]
		for _, id := range e.Inputs {
			if !c.final.Unspent(id) && !c.head.Unspent(id) {
				back = append(back, id)
			}
		}
	}
	return back
}

// reorganise takes some blocks back. What was in them waits again.
func (c *chain) reorganise() {
	n := c.head.Number()
	deep := min(uint64(1+c.r.w.Pick(int(c.r.contract.Depth))), n)
	if deep == 0 || n-deep < c.final.Number() {
		return
	}
	c.r.Stats["reorganisations"]++
	c.r.tell("the chain", "takes %d blocks back", deep)
	for range deep {
		last := c.blocks[len(c.blocks)-1]
		c.blocks = c.blocks[:len(c.blocks)-1]
		for _, s := range slices.Backward(last.sent) {
			s.block = 0
			c.pool = slices.Insert(c.pool, 0, s)
		}
		last.each(func(s *sent, e ledger.Entry, f ledger.Fact) {
			if !s.copied || f.Skipped == ledger.Taken {
				c.past.back(e, f, c.head.Number())
			}
		})
		for _, f := range last.facts {
			if f.Skipped == ledger.Taken {
				all := c.facts[f.Payload]
				c.facts[f.Payload] = slices.DeleteFunc(all, func(l landing) bool { return l.Intent == f.Intent })
			}
		}
		c.head.Revert()
	}
	c.r.publish(ledger.Rewind{To: c.head.Number()})
	for range deep + 1 {
		c.mine()
	}
}
