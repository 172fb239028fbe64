package sequencer

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

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
func (n *Node) signature(p *place, h ledger.Hash, look bool) ([]byte, error) {
	s, err := n.cfg.Keys.Sign(h)
	if err == nil && look && !p.set.Scheme.Verify(n.cfg.Self, h, s) {
		err = errForeign
	}
	if err == nil {
		if look && n.unsigned.Swap(nil) != nil {
			n.cfg.Log.Info("this node can sign again", "contract", p.address())
		}
		return s, nil
	}
	why := err.Error()
	if was := n.unsigned.Swap(&why); was == nil || *was != why {
		n.cfg.Log.Error("this node cannot sign: it neither endorses nor grants", "contract", p.address(), "error", err)
	}
	return nil, err
}

// sign adds the signatures, and looks at the first. If the keys fail nothing is sent, and the other side asks again.
func (n *Node) sign(p *place, body wire.Body, then func(wire.Body)) {
	var failed, looked atomic.Bool
	sign := func(h ledger.Hash) []byte {
		s, err := n.signature(p, h, !looked.Swap(true))
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
				item.Grant.Signature = sign(p.set.Scheme.Granted(p.set.Declared, item.Grant))
			}
		}
	}
	n.parts(many, do, func() {
		if !failed.Load() {
			then(body)
		}
	})
}

// verify looks at signatures of a message: it is forged if one is wrong.
func (n *Node) verify(p *place, v core.Verify, then func(core.Received)) {
	scheme, declared, from := p.set.Scheme, p.set.Declared, v.From
	var forged atomic.Bool
	right := func(int) bool { return true }
	switch b := v.Message.Body.(type) {
	case wire.Endorsed:
		right = func(i int) bool { return scheme.Verify(from, b.Verdicts[i].Assembled, b.Verdicts[i].Signature) }
	case wire.Granted:
		right = func(i int) bool {
			g := b.Items[i].Grant
			return scheme.Verify(from, scheme.Granted(declared, g), g.Signature)
		}
	}
	n.parts(len(v.Needed), func(i int) {
		if !right(v.Needed[i]) {
			forged.Store(true)
		}
	}, func() {
		v.Received.Forged = forged.Load()
		then(v.Received)
	})
}

// prove looks whether a handover is proven. After the first wrong proof of a liar no further one is begun.
func (n *Node) prove(p *place, of core.Prove, then func(core.Proven)) {
	scheme, declared := p.set.Scheme, p.set.Declared
	var lies atomic.Bool
	n.parts(len(of.Claims), func(i int) {
		if lies.Load() || grants.Proven(declared, scheme, of.From, of.Claims[i].Entry()) {
			return
		}
		lies.Store(true)
	}, func() {
		if lies.Load() {
			n.cfg.Log.Warn("a member has handed over what its owner has not granted to it, or too few members have endorsed: none of it counts", "contract", declared.Address, "from", of.From.String())
			of.Claims = nil
		}
		of.Message.Body = wire.Handover{Entries: of.Claims}
		then(core.Proven{Received: of.Received})
	})
}
