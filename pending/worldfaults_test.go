package pending_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// faultyStore loses writes or the answers to them, or carries writes out late.
type faultyStore struct {
	*pending.Memory
	mu   sync.Mutex
	rand *rand.Rand
	part float64 // the part of writes that go wrong
	then func()
	late []func() // writes to be carried out late

	slow  time.Duration // the longest time that reading a page of slots takes
	wait  func(time.Duration)
	again bool // a write had a slot that exists
	early bool // a write ended a dead slot in a life that went on
}

// stall makes the reading of pages take up to some time.
func (s *faultyStore) stall(most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = most
}

// Slots reads the rows before or after the time that it takes. Now and then a row is as somebody else has written
// it: it says a block that there is not.
func (s *faultyStore) Slots(ctx context.Context, a chain.Account, first, last uint64) ([]pending.Slot, error) {
	s.mu.Lock()
	fails, early, takes := s.rand.Float64() < s.part, s.rand.IntN(2) == 0, time.Duration(s.rand.Int64N(int64(s.slow)+1))
	s.mu.Unlock()
	slots, err := s.Memory.Slots(ctx, a, first, last)
	s.wait(takes)
	if !early {
		slots, err = s.Memory.Slots(ctx, a, first, last)
	}
	if fails {
		return nil, errLine
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range slots {
		if slots[i].Last.Block.Hash != "" && s.rand.IntN(20) == 0 {
			slots[i].Last.Block.Hash = "nowhere"
		}
	}
	return slots, err
}

// after arranges for one call of f after the next write.
func (s *faultyStore) after(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.then = f
}

func (s *faultyStore) lose(part float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = part
}

var errLine = errors.New("the connection to the database broke")

// Load carries out late writes after the rows have been read.
func (s *faultyStore) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	snap, err := s.Memory.Load(ctx, a, from, most)
	s.carryOut()
	return snap, err
}

// carryOut carries out all late writes, or none, at random.
func (s *faultyStore) carryOut() {
	s.mu.Lock()
	var late []func()
	if s.rand.IntN(2) == 0 {
		late, s.late = s.late, nil
	}
	s.mu.Unlock()
	for _, write := range late {
		write()
	}
}

func (s *faultyStore) Write(ctx context.Context, t fence.Token, b pending.Batch) error {
	s.mu.Lock()
	before, after := s.rand.Float64() < s.part/2, s.rand.Float64() < s.part/2
	if before && s.rand.IntN(2) == 0 {
		s.late = append(s.late, func() { _ = s.Memory.Write(context.WithoutCancel(ctx), t, b) })
	}
	s.mu.Unlock()
	if before {
		return errLine
	}
	err := s.Memory.Write(ctx, t, b)
	s.mu.Lock()
	s.early = s.early || b.Opens == nil && slices.ContainsFunc(b.Changes, func(c pending.Change) bool { return c.Intent == pending.Again && c.Block.Hash == "" })
	s.again = s.again || err != nil && strings.Contains(err.Error(), "exists already")
	then, late := s.then, s.late
	if err == nil {
		s.then, s.late = nil, nil
	}
	s.mu.Unlock()
	for _, write := range late {
		if err == nil {
			write()
		}
	}
	if err == nil && then != nil {
		then()
	}
	if err == nil && after {
		return errLine
	}
	return err
}

// forgetful is a node that sometimes does not find a transaction that it has.
type forgetful struct {
	chain.Chain
	mu     sync.Mutex // holds rand: a leader looks at its last final row beside all else
	rand   *rand.Rand
	forget *atomic.Bool
}

func (f *forgetful) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	seen, err := f.Chain.Probe(ctx, hashes)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range seen {
		if f.forget.Load() && f.rand.IntN(2) == 0 {
			seen[i] = chain.Sighting{}
		}
	}
	return seen, err
}

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
		if next, err := w.judge.Next(ctx, w.from); err == nil && !w.lives {
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
		if next, err := w.judge.Next(ctx, w.from); err == nil && !w.lives {
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
		if next, err := w.judge.Next(ctx, w.from); err == nil && !w.lives {
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

// wear wears attempts out.
func (w *world) wear() {
	if w.era == 0 {
		return
	}
	switch w.rand.IntN(12) {
	case 0:
		w.node.Upgrade(fmt.Sprint("upgrade ", w.rand.IntN(1000)))
	case 1: // the branch with an upgrade dies
		w.node.Upgrade(fmt.Sprint("fork ", w.rand.IntN(1000)))
		w.wait(time.Duration(w.rand.IntN(3000)) * time.Millisecond)
		w.node.Reorg(w.shallow(1+w.rand.IntN(3)), nil)
	case 2: // bytes are banned
		if all := w.store.AllAttempts(w.from); len(all) > 0 {
			slices.SortFunc(all, func(a, b chain.Signed) int { return strings.Compare(string(a.Hash), string(b.Hash)) })
			w.node.Ban(all[w.rand.IntN(len(all))].Hash)
		}
	case 3: // nothing gets into a block for more than an era
		for range w.era + uint64(w.rand.IntN(10)) {
			w.node.Drop()
			w.wait(time.Second)
		}
	case 4, 5: // the account is reaped, and funded again
		if w.lives {
			w.node.Reap(w.from)
			w.wait(time.Duration(500+w.rand.IntN(4000)) * time.Millisecond)
			w.node.Fund(w.from, dear-1)
		}
	case 6, 7: // all that was ever signed is sent once more
		if w.lives {
			all := w.store.AllAttempts(w.from)
			slices.SortFunc(all, func(a, b chain.Signed) int {
				return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(string(a.Hash), string(b.Hash)))
			})
			w.judge.Submit(w.t.Context(), all)
		}
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
	if w.lives { // an account that is to be reaped gives away what it has in the next block
		w.wait(time.Second)
	}
	w.node.Fund(w.from, 60*dear)
	if w.rand.IntN(2) == 0 || w.leaders[len(w.leaders)-1].killed.Load() {
		w.promote(ctx)
	}
}
