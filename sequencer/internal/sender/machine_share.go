package sender

import (
	"slices"

	"github.com/conchhq/conch/sequencer/ledger"
)

// share asks for the contents of an attempt that has landed to be given to another member, unless another one has them: a node
// that coordinates stores what it dispatches, so only what this node has coordinated itself may be with nobody else (Q14). An
// endorser has the contents in memory alone until they land: a start in between forgets them.
func (m *Machine) share(it *intent, assembled ledger.Hash, block uint64) {
	if m.alone(it, assembled) && it.sharing != assembled {
		it.sharing = assembled
		m.do(Share{Sequence: it.Sequence, Assembled: assembled, Block: block})
	}
}

// alone reports whether perhaps nobody else has the contents of an attempt.
func (m *Machine) alone(it *intent, assembled ledger.Hash) bool {
	return m.cfg.Share && it.shared != assembled &&
		slices.ContainsFunc(it.given, func(g *given) bool { return g.Assembled == assembled && g.To == m.cfg.Self })
}

// conclude says that an intent is done, once its contents are with another member or were offered for long enough. Until then
// it is as one that is in a block.
func (m *Machine) conclude(it *intent, h happening) {
	if !m.alone(it, h.hash) {
		m.tell(it, h)
		return
	}
	if it.state != Included {
		m.tell(it, happening{event: landed, hash: h.hash, block: h.block})
	}
	it.held, it.why = &h, "it is done, and waits until another member has its contents"
	m.share(it, h.hash, h.block)
}

func (m *Machine) sharedBy(in Shared) {
	it := m.intents[in.Sequence]
	if it == nil || it.sharing != in.Assembled { // after a reorganisation another attempt may have landed
		return
	}
	it.shared = in.Assembled
	if h := it.held; h != nil && h.hash == in.Assembled {
		it.held = nil
		m.tell(it, *h)
	}
}
