package sequencer

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

func signs(b wire.Body) bool {
	switch b.(type) {
	case wire.Endorsed, wire.Granted:
		return true
	}
	return false
}

// part is how many signatures a worker makes or verifies at a time: a batch has hundreds, which all processors share, and
// the loop gets its turn in between.
const part = 16

// parts has workers do something for each number below many, and then something once all is done.
func (n *Node) parts(many int, do func(i int), then func()) {
	var left atomic.Int64
	left.Store(int64(max((many+part-1)/part, 1)))
	for from := 0; from == 0 || from < many; from += part {
		n.job(func() {
			for i := from; i < min(from+part, many); i++ {
				do(i)
			}
			if left.Add(-1) == 0 {
				then()
			}
		})
	}
}

// errForeign means that what the keys have signed is not this node's signature.
var errForeign = errors.New("what its key signs is not its signature: the key is damaged, or another one")

// signature signs a hash, and looks whether the signature is this node's own. A damaged key makes others leave this node
// out, and only this node can say why.
func (c *contract) signature(h ledger.Hash, look bool) ([]byte, error) {
	s, err := c.n.cfg.Keys.Sign(h)
	if err == nil && look && !c.set.Scheme.Verify(c.n.cfg.Self, h, s) {
		err = errForeign
	}
	if err == nil {
		if look && c.n.unsigned.Swap(nil) != nil {
			c.n.cfg.Log.Info("this node can sign again", "contract", c.address())
		}
		return s, nil
	}
	why := err.Error()
	if was := c.n.unsigned.Swap(&why); was == nil || *was != why {
		c.n.cfg.Log.Error("this node cannot sign: it neither endorses nor grants", "contract", c.address(), "error", err)
	}
	return nil, err
}

// sign adds the signatures, and looks at the first. If the keys fail nothing is sent, and the other side asks again.
func (c *contract) sign(body wire.Body, then func(wire.Body)) {
	var failed, looked atomic.Bool
	sign := func(h ledger.Hash) []byte {
		s, err := c.signature(h, !looked.Swap(true))
		if err != nil {
			failed.Store(true)
		}
		return s
	}
	var many int
	var do func(int)
	switch b := body.(type) {
	case wire.Endorsed:
		b.Verdicts = slices.Clone(b.Verdicts)
		body, many, do = b, len(b.Verdicts), func(i int) {
			if v := &b.Verdicts[i]; v.Why == wire.Done {
				v.Signature = sign(v.Assembled)
			}
		}
	case wire.Granted:
		b.Items = slices.Clone(b.Items)
		body, many, do = b, len(b.Items), func(i int) {
			if item := &b.Items[i]; item.Why == wire.Done {
				item.Grant.Signature = sign(c.set.Scheme.Granted(c.set.Declared, item.Grant))
			}
		}
	}
	c.n.parts(many, do, func() {
		if !failed.Load() {
			then(body)
		}
	})
}

// verify looks whether a signature is wrong. The loop calls it. What is not needed, or not any more, is not verified: all members
// endorse, anybody sends what was not asked for, and each signature costs as much as everything else that is done with it.
// Such an endorsement is a refusal, and such a grant is for nobody, so that it can only be returned.
func (n *Node) verify(p *place, from ledger.Account, msg wire.Message, then func(body wire.Body, forged bool)) {
	scheme, declared, body := p.set.Scheme, p.set.Declared, msg.Body
	var forged atomic.Bool
	var many int
	var do func(int)
	switch b := body.(type) {
	case wire.Endorsed:
		var needed []int
		for i, v := range b.Verdicts {
			switch {
			case v.Why != wire.Done:
			case p.needs(msg.Request, i):
				needed = append(needed, i)
			default:
				b.Verdicts[i] = wire.Verdict{Assembled: v.Assembled, Why: wire.Refused, Text: "it is not needed, and was not verified"}
			}
		}
		many, do = len(needed), func(i int) {
			if v := b.Verdicts[needed[i]]; !scheme.Verify(from, v.Assembled, v.Signature) {
				forged.Store(true)
			}
		}
	case wire.Granted:
		var needed []int
		for i := range b.Items {
			switch {
			case b.Items[i].Why != wire.Done:
			case p.needs(msg.Request, i):
				needed = append(needed, i)
			default:
				b.Items[i].Grant.Coordinator = ""
			}
		}
		many, do = len(needed), func(i int) {
			if item := b.Items[needed[i]]; !scheme.Verify(from, scheme.Granted(declared, item.Grant), item.Grant.Signature) {
				forged.Store(true)
			}
		}
	}
	n.parts(many, do, func() { then(body, forged.Load()) })
}

// prove leaves of a handover what is proven and may count; the loop calls it. One wrong proof spoils all: an honest member has
// verified each before it dispatched anything, and after the first wrong one of a liar no further one is begun. A member has
// one handover proven at a time; a second one is left out meanwhile.
func (n *Node) prove(p *place, from ledger.Account, msg wire.Message, h wire.Handover, then func(body wire.Body, forged bool)) {
	if p.open == nil || p.open.coordinator == nil || p.proving[from] {
		return // nobody waits for it
	}
	scheme, declared := p.set.Scheme, p.set.Declared
	claims := p.open.coordinator.Claims(from, msg.Request, h)
	var lies atomic.Bool
	p.proving[from] = true
	n.parts(len(claims), func(i int) {
		e := claims[i]
		if lies.Load() || declared.Proven(scheme, from, ledger.Entry{Attempt: e.Attempt, Grant: e.Grant, Endorsements: e.Endorsements}) {
			return
		}
		lies.Store(true)
	}, func() {
		if lies.Load() {
			n.cfg.Log.Warn("a member has handed over what its owner has not granted to it, or too few members have endorsed: none of it counts", "contract", declared.Address, "from", from.String())
			claims = nil
		}
		then(wire.Handover{Entries: claims}, false)
		n.post(func() { delete(p.proving, from) })
	})
}
