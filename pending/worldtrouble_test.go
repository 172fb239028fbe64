package pending_test

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
)

func (w *world) trouble(ctx context.Context) {
	line := w.lines[len(w.lines)-1]
	latest := w.leaders[len(w.leaders)-1]
	switch w.rand.IntN(30) {
	case 0: // kill -9
		latest.kill()
		w.promote(ctx)
	case 1: // deposed without notice
		w.promote(ctx)
	case 2:
		line.LoseAnswers(0.3)
	case 3:
		line.LoseCalls(0.3)
	case 4:
		line.SetDown(true)
	case 5:
		for _, l := range w.lines {
			l.SetDown(false)
			l.LoseAnswers(0)
			l.LoseCalls(0)
		}
	case 6:
		w.node.Drop()
	case 7:
		w.node.Resurrect()
	case 8:
		w.node.Reorg(w.shallow(w.rand.IntN(3)), nil)
	case 9: // the node is killed, and its head goes back
		w.node.Restart(w.shallow(w.rand.IntN(3)))
	case 10: // another sender's transaction is included
		if next, err := w.judge.Next(ctx, w.from); err == nil {
			w.node.Seal(w.somebody(next))
		}
	case 11:
		w.node.SetBaseFee(int64(100 + w.rand.IntN(400)))
	case 12:
		w.store.lose(0.3)
	case 13:
		w.store.lose(0)
	case 14:
		line.Delay(time.Duration(w.rand.IntN(800)) * time.Millisecond)
	case 15:
		line.LoseNextAnswer("Submit")
	case 16: // killed between storing and sending
		line.Watch(func(call string) {
			if call == "Submit" {
				latest.kill()
			}
		})
		w.later(ctx)
	case 17: // killed right after a write
		w.store.after(latest.kill)
		w.later(ctx)
	case 18: // another sender's transaction is in the pool with a nonce of ours
		if next, err := w.judge.Next(ctx, w.from); err == nil {
			w.judge.Submit(ctx, []chain.Signed{w.somebody(next + uint64(w.rand.IntN(8)))})
		}
	case 19: // the node's index of transactions is behind, or catches up
		w.forget.Store(!w.forget.Load())
	case 20: // final blocks are taken back
		if w.unreal {
			w.node.Restart(min(4+w.rand.IntN(4), w.height()))
		}
	case 22, 23: // an intent is cancelled
		if len(w.ids) > 0 {
			if err := w.store.Cancel(ctx, w.ids[len(w.ids)-1-w.rand.IntN(min(8, len(w.ids)))]); err != nil {
				w.t.Fatal(err)
			}
		}
	case 21: // another sender's transaction is included, and its block is taken back
		if next, err := w.judge.Next(ctx, w.from); err == nil {
			w.node.Seal(w.somebody(next))
			w.wait(time.Duration(w.rand.IntN(3000)) * time.Millisecond)
			w.node.Restart(w.shallow(3))
		}
	case 25: // pages of slots are read slowly
		w.store.stall(time.Duration(w.rand.IntN(15_000)) * time.Millisecond)
	case 26:
		w.store.stall(0)
	case 27: // the blocks of slots are taken back meanwhile
		w.store.stall(10 * time.Second)
		w.wait(time.Duration(w.rand.IntN(3000)) * time.Millisecond)
		w.node.Reorg(w.shallow(depth), nil)
		w.node.Drop()
	case 28, 29:
		w.node.Reorg(w.shallow(w.rand.IntN(depth)), nil)
	case 24: // the work ends and begins again in the same term
		latest.kill()
		<-latest.done
		w.lead(ctx)
	}
}

// somebody returns a transaction of another sender that has the account's key.
func (w *world) somebody(index uint64) chain.Signed {
	tx := w.node.Foreign(w.from, index)
	w.foreign[tx.Hash] = true
	return tx
}

// later promotes a new leader after two seconds.
func (w *world) later(ctx context.Context) {
	w.wait(2 * time.Second)
	w.promote(ctx)
}

func (w *world) height() int { return int(w.head().Number) }

func (w *world) head() chain.Block {
	for turn, err := range w.judge.Heads(w.t.Context(), chain.Block{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if turn.Kind == chain.Applied {
			return turn.Block
		}
	}
	return chain.Block{}
}

const depth = 4

// shallow limits a reorganisation to blocks that were never final.
func (w *world) shallow(blocks int) int {
	height := w.height()
	w.peak = max(w.peak, height)
	return max(0, min(blocks, height-max(0, w.peak-depth)))
}

func (w *world) heal(ctx context.Context) {
	w.store.lose(0)
	w.store.stall(0)
	for _, l := range w.lines {
		l.SetDown(false)
		l.LoseAnswers(0)
		l.LoseCalls(0)
		l.Delay(0)
	}
	w.forget.Store(false)
	w.node.Fund(w.from, 60*dear)
	if w.rand.IntN(2) == 0 || w.leaders[len(w.leaders)-1].killed.Load() {
		w.promote(ctx)
	}
}
