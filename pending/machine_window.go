package pending

import "github.com/conchhq/conch/chain"

// window is how many nonces from the chain's count on may be signed and sent. A pool keeps so many transactions of an
// account: some take thousands, others 16 or one, and a sequencer without a pool takes only the next nonce. No node
// says how many, so it is learned from what the node takes. It is pure.
type window struct {
	size    int    // at least 1
	most    int    // it never grows above
	ends    bool   // a node has refused one for want of room: the window doubles no longer
	step    int    // by how many it grows next, once ends
	wait    uint64 // for how many blocks it does not grow after the next refusal
	growAt  uint64 // it does not grow below this height, once ends
	pressed bool   // more was to be signed or sent than it allowed, since it last changed
}

const (
	firstWindow = 16 // each pool of go-ethereum's kind takes so many of an account
	firstWait   = 4
	mostWait    = 64
)

func newWindow(most int) window {
	return window{size: max(1, min(firstWindow, most)), most: max(1, most), step: 1, wait: firstWait}
}

// took notes that a node has all of a submit, and with it so many in a row. If the window was what limited it, it
// doubles. Once it is known where the pool ends it grows seldom and by one, since each that does not fit is refused;
// as long as they fit, it grows with each block and by twice as many.
func (w *window) took(inRow int, height uint64) {
	if !w.pressed || 2*inRow < w.size || w.ends && height < w.growAt {
		return
	}
	grown := 2 * w.size
	if w.ends {
		if grown = w.size + w.step; w.step > 1 {
			w.wait = firstWait // the last step did fit
		}
		w.step, w.growAt = min(2*w.step, w.most), height+1
	}
	w.size, w.pressed = min(grown, w.most), false
}

// refused notes that a node has taken so many in a row, and has no room for the one after. If it takes none at all that
// says nothing about how many it takes of one account.
func (w *window) refused(inRow int, height uint64) {
	w.size, w.ends, w.step, w.pressed = max(1, min(inRow, w.size)), true, 1, false
	w.growAt = height + w.wait
	if w.wait = min(2*w.wait, mostWait); inRow == 0 {
		w.wait = firstWait
	}
}

// allows returns how many nonces from next on may be signed.
func (w *window) allows(best, next uint64) int {
	if used := next - min(best, next); used < uint64(w.size) {
		return w.size - int(used)
	}
	return 0
}

// learnRoom learns from the answers to a submit, whose nonces rise.
func (m *machine) learnRoom(answers []answer) {
	took := len(answers) > 0
	for _, got := range answers {
		switch got.Verdict {
		case chain.Accepted, chain.Known, chain.IndexTooLow:
			continue
		case chain.Full:
			if s := m.slots.get(got.Index); s == nil || !s.taken() {
				m.window.refused(int(got.Index-min(m.sentFrom, got.Index)), m.head.Number)
				return
			}
		default:
		}
		took = false
	}
	if took {
		m.window.took(int(answers[len(answers)-1].Index-m.sentFrom)+1, m.head.Number)
	}
}
