//go:build unix

package transactions

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/chain/evm/evmtest"
)

// plays are the courses of the profiles that need one of their own, by name.
var plays = map[string]func(*course){
	"finality-stalls":           (*course).playStall,
	"finality-stalls-pruned":    (*course).playStall,
	"finality-is-latest":        (*course).playRefused,
	"rolled-back":               (*course).playRolledBack,
	"dead-branch-by-request":    (*course).playDeadBranch,
	"dead-branch-by-item":       (*course).playDeadBranch,
	"answer-limit":              (*course).playTakeover,
	"batch-100-object":          (*course).playTakeover,
	"batch-100-items":           (*course).playTakeover,
	"batch-100-413":             (*course).playTakeover,
	"backends-by-request":       (*course).playTakeover,
	"backends-by-item":          (*course).playTakeover,
	"count-cached":              (*course).playTakeover,
	"index-missing":             (*course).playTakeover,
	"index-in-progress":         (*course).playTakeover,
	"receipts-late":             (*course).playTakeover,
	"receipts-of-another-block": (*course).playTakeover,
	"receipts-without-status":   (*course).playTakeover,
	"system-transactions":       (*course).playTakeover,
	"lie-final":                 (*course).playLies,
	"lie-head":                  (*course).playLies,
	"lie-stranger":              (*course).playForgedStranger,
	"nonce-without-transaction": (*course).playConsumed,
	"socket-deaf":               (*course).playDeaf,
	"socket-pings-only":         (*course).playDeaf,
	"bad-genesis":               (*course).playOtherGenesis,
	"send-refused-by-policy":    (*course).playPolicy,
	"blocks-stop":               (*course).playNoBlocks,
}

// mined waits until so many transactions of the account are in the chain, and returns them.
func (w *course) mined(n int) (all []evmtest.Mined) {
	w.Helper()
	w.eventually(fmt.Sprintf("%d transactions are in the chain", n), func() bool {
		count, err := w.node.Count(w.Context(), w.key.Account()) // costs less than to read all blocks
		w.check(err)
		if count < uint64(n) {
			return false
		}
		all, err = w.node.Mined(w.Context(), w.key.Account(), w.from)
		w.check(err)
		return len(all) >= n // a reorganisation may have come between
	})
	return all
}

// buried waits until n transactions are in final blocks.
func (w *course) buried(n int) []evmtest.Mined {
	w.Helper()
	all := w.mined(n)
	w.eventually("they are final", func() bool {
		final, err := w.node.Height(w.Context(), "finalized")
		return err == nil && final >= all[len(all)-1].Block
	})
	return all
}

// direct makes a call to the node, past the provider.
func (w *course) direct(method string, params ...any) {
	w.Helper()
	w.check(w.node.Call(w.Context(), nil, method, params...))
}

// mines makes calls to the node, such as for a block, until the test ends. While the provider has its fault it makes none.
func (w *course) mines(methods ...string) {
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		for ctx.Err() == nil {
			for _, method := range methods {
				if !w.provider.Fault.IsOn() {
					_ = w.node.Call(ctx, nil, method) // fails when the test ends
				}
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	w.Cleanup(func() { cancel(); <-over })
}

// playStall: while nothing becomes final, and after a leader change in it, sending goes on.
func (w *course) playStall() {
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	w.buried(half)
	w.provider.Fault.On()
	w.pass(w.profile.Blocks + 2)
	w.lead()
	w.accept(w.intents() - half)
	w.mined(w.intents())
	w.provider.Fault.Off()
	w.done()
}

// playRefused: nothing is sent through an endpoint that calls its head final, and the reason is told.
func (w *course) playRefused() {
	w.accept(1)
	w.lead()
	w.says("calls its head")
	if n := len(w.provider.Sent()); n > 0 {
		w.Errorf("%d transactions were sent, want none", n)
	}
}

// playRolledBack: the head goes back, and the final block stands.
func (w *course) playRolledBack() {
	w.direct("dev_finalize")
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	all := w.mined(half)
	w.pass(w.profile.Blocks)
	back := w.height() - all[0].Block + 1
	w.direct("dev_reorg", fmt.Sprintf("0x%x", back), [][]string{{}})
	w.accept(w.intents() - half)
	w.mined(w.intents())
	w.mines("dev_mine", "dev_finalize")
	w.done()
}

// heldBack accepts intents whose transactions a leader stores and sends, and nobody sees. When it has been
// killed, they are included and final: the next leader has to find all of that out.
func (w *course) heldBack(n int) []evmtest.Mined {
	w.Helper()
	w.provider.Hold.On()
	w.accept(n)
	w.lead()
	sent := w.sent(n)
	w.stop()
	w.eventually("no request is under way", w.provider.Quiet) // else the rest of a batch is not held back
	w.provider.Hold.Off()
	for i, tx := range sent {
		if i > 0 && i%aBlock == 0 {
			w.mined(i)
		}
		w.direct("eth_sendRawTransaction", tx.Raw)
	}
	return w.buried(n)
}

// aBlock is how many transactions heldBack leaves to one block.
const aBlock = 40

// playTakeover: the first leader's transactions are final before the second has asked for them.
func (w *course) playTakeover() {
	some := w.first()
	w.heldBack(some)
	w.provider.Fault.On()
	w.lead()
	w.accept(w.intents() - some)
	if w.profile.Fault == passing {
		w.matters()
		w.pass(w.profile.Blocks)
		w.provider.Fault.Off()
	}
	w.done()
}

// playLies: the lie is told to a leader that begins, and again while it leads.
func (w *course) playLies() {
	some := w.first()
	w.accept(some)
	w.lead()
	w.mined(some)
	for more := w.intents() - some; more > 0; more -= min(more, w.intents()/4+1) {
		first := len(w.ids) == some
		if first {
			w.stop()
		}
		w.provider.Fault.On()
		if first {
			w.lead()
		}
		w.eventually("the lie is told", func() bool { return !w.provider.Fault.IsOn() })
		w.accept(min(more, w.intents()/4+1))
		w.mined(len(w.ids))
	}
	w.done()
}

// playDeadBranch: a stranger's transactions have the nonces of the intents in the blocks of a dead
// branch, at the heights at which the chain has the intents'. All that is asked by hash and number goes to
// the backend on that branch when a leader takes over; later any call may.
func (w *course) playDeadBranch() {
	some := w.first()
	all := w.heldBack(some)
	first, last := all[0].Block, all[len(all)-1].Block
	branch := map[uint64][]evmtest.Transaction{}
	for _, tx := range all {
		branch[tx.Block] = append(branch[tx.Block], w.key.Stranger(w.T, w.node.ChainID, tx.Nonce))
	}
	w.provider.AimBranch(first-1, last-first+3, branch)
	w.provider.Fault.On()
	w.lead()
	w.pass(20)
	w.provider.Fault.Off()
	w.accept(w.intents() - some)
	w.done()
}

// playForgedStranger: the block of an intent has once, before it, a transaction that nobody signed.
func (w *course) playForgedStranger() {
	some := w.first()
	all := w.heldBack(some)
	w.provider.AimAt(w.key.Account(), all[0].Nonce)
	w.provider.Fault.On()
	w.lead()
	w.accept(w.intents() - some)
	w.done()
}

// playConsumed: the nonce of an attempt that nobody included is used up without a transaction.
func (w *course) playConsumed() {
	w.provider.Fault.On()
	w.accept(2)
	w.lead()
	w.sent(2)
	relay := evmtest.NewKey(w.T)
	w.check(w.node.Fund(w.Context(), relay.Account(), 1e9))
	w.direct("eth_sendRawTransaction", relay.Consume(w.T, w.node.ChainID, 0, w.key, 0).Raw)
	w.eventually("the nonce is used up", func() bool {
		var count string
		w.check(w.node.Call(w.Context(), &count, "eth_getTransactionCount", w.key.Account(), "latest"))
		return count == "0x1"
	})
	w.provider.Fault.Off()
	w.done()
}

// playDeaf: the open connection falls silent for ever. A new one works.
func (w *course) playDeaf() {
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	w.mined(half)
	w.provider.Deafen()
	w.accept(w.intents() - half)
	w.done()
}

// playOtherGenesis: the endpoint serves another chain with the same ID for a while. Nothing is sent to it.
func (w *course) playOtherGenesis() {
	other := evmtest.StartNode(w.T, w.program, "--block-time", "100ms", "--gas-limit", "400000000")
	w.check(other.Fund(w.Context(), w.key.Account(), 1e9))
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	w.buried(half)
	w.provider.AimOther(other)
	w.provider.Fault.On()
	w.accept(w.intents() - half)
	w.pass(20)
	stray, err := other.Mined(w.Context(), w.key.Account(), 0)
	w.check(err)
	if len(stray) > 0 {
		w.Fatalf("%d transactions are in the other chain\n%s", len(stray), w.report())
	}
	w.says("chain", "genesis")
	w.provider.Fault.Off()
	w.lead() // the term may have ended for this reason
	w.done()
}

// playPolicy: what the only endpoint refuses waits, and the reason names that endpoint. With a second endpoint the
// same refusals hold up nothing.
func (w *course) playPolicy() {
	w.provider.Fault.On()
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	w.says(w.profile.Says...)
	w.waits(w.profile.Says...)
	profile := w.profile
	profile.Name += ", and a second endpoint"
	two := newCourse(w.T, w.node, profile)
	two.second = evmtest.Start(w.T, w.node, evmtest.Profile{})
	two.provider.Fault.On()
	two.accept(half)
	two.lead()
	two.accept(half)
	two.done()
	w.lead() // a successor reads the reason, and finds it anew
	w.accept(w.intents() - half)
	w.waits(w.profile.Says...)
	w.provider.Fault.Off()
	w.done()
}

// playNoBlocks: the chain makes no blocks for a while. A leader that begins meanwhile sends, and nothing is sent as
// if it were stuck: no block has passed it over.
func (w *course) playNoBlocks() {
	w.mines("dev_mine")
	half := w.intents() / 2
	w.accept(half)
	w.lead()
	w.buried(half)
	w.provider.Fault.On()
	w.accept(w.intents() - half)
	w.sent(w.intents())
	w.lead()
	w.eventually("the next leader has looked for them", func() bool {
		return w.provider.Calls()["eth_getTransactionByHash"] >= w.intents()-half
	})
	nonces := map[uint64]map[string]bool{}
	for _, tx := range w.provider.Sent() {
		if nonces[tx.Nonce] == nil {
			nonces[tx.Nonce] = map[string]bool{}
		}
		nonces[tx.Nonce][tx.Hash] = true
	}
	for n, hashes := range nonces {
		if len(hashes) > 1 {
			w.Errorf("nonce %d has %d transactions, want one while there are no blocks", n, len(hashes))
		}
	}
	w.provider.Fault.Off()
	w.done()
}
