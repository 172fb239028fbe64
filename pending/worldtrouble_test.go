package pending_test

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
)

func (w *world) trouble(ctx context.Context) {
	line := w.lines[len(w.lines)-1]
	latest := w.leaders[len(w.leaders)-1]
	switch w.rand.IntN(25) {
	case 0: // kill -9
		latest.kill()
		w.promote(ctx)
	case 1: // stopped, deposed, and going on
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
	case 9: // a node killed: its head goes back
		w.node.Restart(w.shallow(w.rand.IntN(3)))
	case 10: // somebody else has the key
		if next, err := w.judge.Next(ctx, w.from, chain.Best); err == nil {
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
	case 16: // killed between the store and the node
		line.Watch(func(call string) {
			if call == "Submit" {
				latest.kill()
			}
		})
		w.later(ctx)
	case 17: // killed after a write, before anything follows from it
		w.store.after(latest.kill)
		w.later(ctx)
	case 18: // somebody else's waits in the pool under an index that is, or will be, ours
		if next, err := w.judge.Next(ctx, w.from, chain.Best); err == nil {
			w.judge.Submit(ctx, []chain.Signed{w.somebody(next + uint64(w.rand.IntN(8)))})
		}
	case 19: // a node's index of transactions is behind
		w.forget.Store(!w.forget.Load())
	case 20: // below what was final
		if w.unreal {
			w.node.Restart(min(4+w.rand.IntN(4), w.height()))
		}
	case 22, 23: // it shall not be done after all
		if len(w.ids) > 0 {
			if err := w.store.Cancel(ctx, w.ids[len(w.ids)-1-w.rand.IntN(min(8, len(w.ids)))]); err != nil {
				w.t.Fatal(err)
			}
		}
	case 21: // one of somebody else's is in the chain, and then it never was
		if next, err := w.judge.Next(ctx, w.from, chain.Best); err == nil {
			w.node.Seal(w.somebody(next))
			w.wait(time.Duration(w.rand.IntN(3000)) * time.Millisecond)
			w.node.Restart(w.shallow(3))
		}
	case 24: // its work ends and begins anew, in one term
		latest.kill()
		<-latest.done
		w.lead(ctx)
	}
}

// somebody else has the key.
func (w *world) somebody(index uint64) chain.Signed {
	tx := w.node.Foreign(w.from, index)
	w.foreign[tx.Hash] = true
	return tx
}

// later promotes another, a little after one was or will be killed.
func (w *world) later(ctx context.Context) {
	w.wait(2 * time.Second)
	w.promote(ctx)
}

func (w *world) height() int {
	for turn, err := range w.judge.Heads(w.t.Context(), chain.Block{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if turn.Kind == chain.Applied {
			return int(turn.Block.Number)
		}
	}
	return 0
}

const depth = 4

// shallow bounds a reorganisation to what is not final.
func (w *world) shallow(blocks int) int {
	height := w.height()
	w.peak = max(w.peak, height)
	return max(0, min(blocks, height-max(0, w.peak-depth)))
}

func (w *world) heal(ctx context.Context) {
	w.store.lose(0)
	for _, l := range w.lines {
		l.SetDown(false)
		l.LoseAnswers(0)
		l.LoseCalls(0)
		l.Delay(0)
	}
	w.forget.Store(false)
	if w.rand.IntN(2) == 0 || w.leaders[len(w.leaders)-1].killed.Load() {
		w.promote(ctx)
	}
}
