package election_test

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/mint"
)

// waits counts the waits under way and those that were cut off.
type waits struct {
	mint.Mint
	mu             sync.Mutex
	now, most, cut int
}

func (w *waits) Wait(ctx context.Context, process int64) (bool, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	gone, err := w.Mint.Wait(ctx, process)
	w.mu.Lock()
	w.now--
	if ctx.Err() != nil {
		w.cut++
	}
	w.mu.Unlock()
	return gone, err
}

// Cutting a wait off, or starting a second one, costs the mint connections just when a new leader
// needs it. A handover does neither: the old waits end by themselves.
func TestAHandoverCutsNoWaitOff(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		count := &waits{Mint: b.mint}
		counted := func(c *election.Config) { c.Mint = count }
		a, stopA := b.run("a", election.Role{Lead: untilTold})
		b.leads(a, time.Second)
		_, stopB := b.run("b", election.Role{Lead: untilTold}, counted)
		_, stopC := b.run("c", election.Role{Lead: untilTold}, counted)
		pass(3 * time.Second)
		b.ends(stopA)
		pass(3 * time.Second)
		count.mu.Lock()
		if count.cut != 0 || count.most != 2 || count.now != 1 {
			t.Errorf("%d waits were cut off, at most %d ran at once and %d run now, want 0, 2 and 1", count.cut, count.most, count.now)
		}
		count.mu.Unlock()
		b.ends(stopB)
		b.ends(stopC)
	})
}

// deathbed is a mint in which process 7 holds s and t. The process dies during the bid for t, whose
// answer still names it.
type deathbed struct {
	dead  chan struct{}
	tries int
	told  time.Time // when that answer came
	again time.Time // when t was bid for next
}

func (d *deathbed) Open(context.Context, mint.Candidate) (mint.Session, error) {
	return d, nil
}

func (d *deathbed) Wait(ctx context.Context, process int64) (bool, error) {
	if process == 7 {
		select {
		case <-d.dead:
			return true, nil
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return false, context.Cause(ctx)
}

func (d *deathbed) Listen(ctx context.Context, _ func(mint.Change)) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (d *deathbed) Try(_ context.Context, bids []mint.Bid) ([]mint.Result, error) {
	d.tries++
	holder := mint.Result{Outcome: mint.Held, Holder: "x", Process: 9}
	switch d.tries {
	case 1: // t is tried next
		bids, holder.Process = bids[:1], 7
	case 2:
		<-d.dead
		pass(5 * time.Millisecond)
		d.told, holder.Process = time.Now(), 7
	}
	var results []mint.Result
	for _, b := range bids {
		if holder.Scope = b.Scope; b.Scope == "t" && d.tries > 2 && d.again.IsZero() {
			d.again = time.Now()
		}
		results = append(results, holder)
	}
	return results, nil
}

func (d *deathbed) Beat(context.Context, []mint.Pulse) ([]mint.Outcome, error) {
	return nil, nil
}

func (d *deathbed) Enlist(context.Context, mint.Roll) error { return nil }

func (d *deathbed) Release(context.Context, []mint.Farewell) ([]mint.Parting, error) {
	return nil, nil
}

func (d *deathbed) Process() int64 { return 1 }

func (d *deathbed) Close() error { return nil }

// If an answer names a process whose end is known, a new wait tells its end again and the scope is
// tried at once. A poll would come up to a third of a lease later.
func TestADeathIsToldAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dying := &deathbed{dead: make(chan struct{})}
		_, stop := start(t, election.Config{
			Mint: dying, ID: "b", Roles: []election.Role{{Scope: "s"}, {Scope: "t"}}, Clock: bubbleClock(),
			Logger: slog.New(slog.DiscardHandler),
		})
		synctest.Wait()
		close(dying.dead)
		pass(5 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := dying.again.Sub(dying.told); dying.told.IsZero() || dying.again.IsZero() || took > 50*time.Millisecond {
			t.Errorf("the answer came at %s and the next bid %s later, want at most 50ms", dying.told, took)
		}
	})
}

// lingering is a mint whose listener ends late.
type lingering struct {
	*electiontest.Memory
	over atomic.Bool
}

// Listen implements mint.Mint.
func (l *lingering) Listen(ctx context.Context, heard func(mint.Change)) error {
	err := l.Memory.Listen(ctx, heard)
	pass(time.Second)
	l.over.Store(true)
	return err
}

// Run returns when nothing that it has begun goes on: not even what ends late.
func TestRunLeavesNothingBehind(t *testing.T) {
	bubble(t, func(t *testing.T, b *bench) {
		late := &lingering{Memory: b.mint}
		_, stop := b.run("a", election.Role{Lead: func(ctx context.Context, _ election.Leadership) error { <-ctx.Done(); return nil }}, func(c *election.Config) { c.Mint = late })
		pass(10 * time.Second)
		if err := stop(); err != nil || !late.over.Load() {
			t.Errorf("Run has returned %v, and the mint is still listened to: %v", err, !late.over.Load())
		}
	})
}
