package sender

import (
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// held is an intent at a coordinator.
type held struct {
	step      wire.Step
	assembled ledger.Hash // zero if it has no attempt
	whole     wire.Whole
	after     time.Duration // when to go on
	sent      bool          // dispatched
}

// coordinator lies, forgets and dispatches what it said it had not, until the world is calm. Then it is honest.
type coordinator struct {
	w       *world
	account ledger.Account
	inc     wire.Incarnation
	number  uint64
	version uint64
	has     []*held
	wholes  []wire.Whole
	grants  []ledger.Entry // every one it ever got, to be sent at any time
	steps   []wire.Step    // every one it ever saw
	hashes  []ledger.Hash  // every one it ever saw
	beat    time.Duration
	asked   time.Duration
	sent    []wire.Message // requests, to be sent again
}

func newCoordinator(w *world, a ledger.Account) *coordinator {
	c := &coordinator{w: w, account: a}
	c.restart()
	return c
}

func (c *coordinator) restart() {
	c.inc, c.number, c.has = wire.Incarnation{a0(c.account), byte(c.w.rng.Uint32()), byte(c.w.rng.Uint32()), 1}, 0, nil
}

func a0(a ledger.Account) byte { return a[0] }

func (c *coordinator) find(s ledger.Sequence) *held {
	for _, h := range c.has {
		if h.step.Sequence == s {
			return h
		}
	}
	return nil
}

func (c *coordinator) drop(h *held) {
	c.has = slices.DeleteFunc(c.has, func(other *held) bool { return other == h })
}

func (c *coordinator) send(request wire.RequestID, body wire.Body) {
	msg := wire.Message{Contract: c.w.contract.Address, Request: request, Body: body}
	c.w.packets = append(c.w.packets, packet{from: c.account, to: self, msg: msg})
}

func (c *coordinator) request(body wire.Body) {
	c.number++
	c.send(wire.RequestID{Incarnation: c.inc, Number: c.number}, body)
	if last := c.w.packets[len(c.w.packets)-1].msg; len(c.sent) < 40 {
		c.sent = append(c.sent, last)
	}
}

// receive takes a message of the owner.
func (c *coordinator) receive(msg wire.Message) {
	hostile := !c.w.calm
	switch body := msg.Body.(type) {
	case wire.Delegate:
		for _, o := range body.Intents {
			c.steps = append(c.steps, wire.Step{Sequence: o.Sequence, Delegation: body.Delegation})
		}
		if hostile && c.w.chance(30) {
			if why := []wire.Why{0, wire.TooOld, wire.TooNew, wire.Busy, wire.NotMember, wire.OutOfStep}[c.w.rng.IntN(6)]; why > 0 {
				c.send(msg.Request, wire.Rejected{Why: why})
				c.w.reached[body.Delegation] = min(c.w.reached[body.Delegation], c.w.before[body.Delegation])
			}
			return
		}
		for _, o := range body.Intents {
			if h := c.find(o.Sequence); h == nil {
				c.has = append(c.has, &held{step: wire.Step{Sequence: o.Sequence, Delegation: body.Delegation}})
			} else if !h.sent || h.step.Delegation != body.Delegation {
				*h = held{step: wire.Step{Sequence: o.Sequence, Delegation: body.Delegation}}
			}
		}
		c.send(msg.Request, wire.Accepted{})
	case wire.Assembled:
		for _, r := range body.Results {
			c.result(r)
		}
	case wire.Granted:
		for _, r := range body.Items {
			c.granted(r)
		}
	case wire.AskList:
		var list wire.List
		for _, h := range c.has {
			if !hostile || c.w.chance(80) {
				list.Sequences = append(list.Sequences, h.step.Sequence)
			}
		}
		c.send(msg.Request, list)
	}
}

func (c *coordinator) result(r wire.Result) {
	if r.Why == wire.Done {
		w := wire.Whole{Attempt: r.Attempt, Payload: r.Payload, Outputs: r.Outputs}
		c.wholes = append(c.wholes, w)
		hash := c.w.scheme.Assembled(c.w.contract, r.Attempt)
		c.hashes = append(c.hashes, hash)
		if h := c.find(r.Sequence); h != nil && !h.sent {
			h.assembled, h.whole = hash, w
		}
		return
	}
	if h := c.find(r.Sequence); h != nil && !h.sent {
		if h.after = c.w.now + 200*time.Millisecond; r.Why == wire.Ended || r.Why == wire.Moved {
			c.drop(h)
		}
	}
}

func (c *coordinator) granted(r wire.GrantResult) {
	h := c.find(r.Sequence)
	if r.Why != wire.Done {
		if h != nil && !h.sent {
			if h.after, h.assembled = c.w.now+200*time.Millisecond, (ledger.Hash{}); r.Why == wire.Ended || r.Why == wire.Moved {
				c.drop(h)
			}
		}
		return
	}
	e := ledger.Entry{Grant: r.Grant}
	e.Grant.Signature = c.w.scheme.Sign(self, c.w.scheme.Granted(c.w.contract, r.Grant))
	for _, w := range c.wholes {
		if c.w.scheme.Assembled(c.w.contract, w.Attempt) == r.Grant.Assembled {
			e.Attempt = w.Attempt
		}
	}
	if e.Owner == "" {
		return // it chose the hash itself and has nothing behind it
	}
	if c.w.calm || c.w.chance(95) {
		e.Endorsements = []ledger.Endorsement{{Member: 1, Signature: c.w.scheme.Sign("a", r.Grant.Assembled)}}
	}
	c.grants = append(c.grants, e)
	if h != nil && h.assembled == r.Grant.Assembled && (c.w.calm || c.w.chance(80)) {
		h.sent = true
		c.w.pool = append(c.w.pool, ledger.Sent{By: c.account, Entries: []ledger.Entry{e}})
		c.request(wire.Dispatched{Items: []wire.Handed{{Sequence: r.Sequence, Assembled: r.Grant.Assembled}}})
	}
}

// lie does one thing that no honest node does, or that only a fault explains.
func (c *coordinator) lie() {
	w := c.w
	switch w.rng.IntN(9) {
	case 0:
		c.restart()
	case 1: // what was granted is dispatched, whatever it has said
		if len(c.grants) > 0 {
			w.pool = append(w.pool, ledger.Sent{By: c.account, Entries: []ledger.Entry{c.grants[w.rng.IntN(len(c.grants))]}})
		}
	case 2: // any grant for any delegation
		if len(c.steps) > 0 && len(c.hashes) > 0 {
			hash := c.hashes[w.rng.IntN(len(c.hashes))]
			if w.chance(20) {
				hash[3]++
			}
			c.request(wire.AskGrant{By: c.account, Items: []wire.GrantStep{{Step: c.steps[w.rng.IntN(len(c.steps))], Assembled: hash}}})
		}
	case 3:
		if len(c.steps) > 0 {
			s := c.steps[w.rng.IntN(len(c.steps))]
			why := []wire.Why{wire.Moved, wire.Unknown, wire.Refused}[w.rng.IntN(3)]
			if u := w.bySeq[s.Sequence]; why == wire.Refused && u != nil {
				u.blame++
			}
			c.send(wire.RequestID{}, wire.Returned{Items: []wire.Step{s}, Why: why})
		}
	case 4:
		if len(c.steps) > 0 && len(c.hashes) > 0 {
			c.request(wire.Dispatched{Items: []wire.Handed{{Sequence: c.steps[w.rng.IntN(len(c.steps))].Sequence, Assembled: c.hashes[w.rng.IntN(len(c.hashes))]}}})
		}
	case 5: // a message of long ago
		if len(c.sent) > 0 {
			w.packets = append(w.packets, packet{from: c.account, to: self, msg: c.sent[w.rng.IntN(len(c.sent))]})
		}
	case 6:
		if len(c.has) > 0 {
			c.drop(c.has[w.rng.IntN(len(c.has))])
		}
	case 7:
		if len(c.has) > 0 { // a new attempt instead of the one that it has
			*c.has[0] = held{step: c.has[0].step}
		}
	case 8: // with somebody else's number, or a changed entry
		if len(c.grants) > 0 {
			e := c.grants[w.rng.IntN(len(c.grants))]
			e.Grant.ValidUntil = w.rng.Uint64N(40)
			w.pool = append(w.pool, ledger.Sent{By: c.account, Entries: []ledger.Entry{e}})
		}
	}
}

// context is what it says that it has in flight: nothing, or lies about who makes a state.
func (c *coordinator) context() wire.Context {
	c.version++
	x := wire.Context{Version: c.version}
	for _, h := range c.has {
		if h.assembled == (ledger.Hash{}) || !c.w.chance(60) {
			continue
		}
		x.Locked = append(x.Locked, h.whole.Attempt.Inputs...)
		for i, o := range h.whole.Outputs {
			s := domain.State{ID: c.w.scheme.State(h.assembled, i), Creator: h.whole.Attempt.Intent, Assembled: h.assembled, Secret: o}
			if !c.w.calm && c.w.chance(20) && len(c.steps) > 0 {
				s.Creator.Sequence = c.steps[c.w.rng.IntN(len(c.steps))].Sequence
			}
			x.Created = append(x.Created, s)
		}
	}
	return x
}

// work does what comes next.
func (c *coordinator) work() {
	w := c.w
	if w.now-c.beat >= 200*time.Millisecond && len(c.has) > 0 {
		c.beat = w.now
		p := &Pulse{From: c.account, Incarnation: c.inc}
		for _, h := range c.has {
			p.Pulse.Digest.Add(h.step.Sequence, 1)
		}
		w.packets = append(w.packets, packet{from: c.account, to: self, pulse: p})
	}
	if w.now-c.asked < 50*time.Millisecond {
		return
	}
	c.asked = w.now
	var all wire.Assemble
	var ask wire.AskGrant
	ask.By = c.account
	for _, h := range slices.Clone(c.has) {
		if h.sent {
			c.follow(h)
		} else if h.after > w.now {
			continue
		} else if h.assembled == (ledger.Hash{}) {
			h.after = w.now + 300*time.Millisecond
			all.Items = append(all.Items, h.step)
		} else if w.calm || w.chance(70) {
			h.after = w.now + 300*time.Millisecond
			ask.Items = append(ask.Items, wire.GrantStep{Step: h.step, Assembled: h.assembled})
		}
	}
	if len(all.Items) > 0 {
		all.Context = c.context()
		all.Items = all.Items[:min(len(all.Items), 64)]
		c.request(all)
	}
	if len(ask.Items) > 0 {
		c.request(ask)
	}
}

// follow tells the owner again what was dispatched, and drops it when the ledger has decided.
func (c *coordinator) follow(h *held) {
	if _, _, is := c.w.final.Landed(h.whole.Attempt.Intent); is {
		c.drop(h)
		return
	}
	until := uint64(0)
	for _, e := range c.grants {
		if e.Grant.Assembled == h.assembled {
			until = max(until, e.Grant.ValidUntil)
		}
	}
	if c.w.final.Number() > until {
		c.drop(h)
		return
	}
	if h.after <= c.w.now {
		h.after = c.w.now + 500*time.Millisecond
		c.request(wire.Dispatched{Items: []wire.Handed{{Sequence: h.step.Sequence, Assembled: h.assembled}}})
	}
}
