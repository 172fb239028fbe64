package sequencer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// lines keeps a log above the level of debugging.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(b))
	return len(b), nil
}

// with returns the lines that have all parts.
func (l *lines) with(parts ...string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		has := true
		for _, part := range parts {
			has = has && strings.Contains(line, part)
		}
		if has {
			found = append(found, line)
		}
	}
	return found
}

// broken is a ledger that refuses while something is on, and once it was followed if that breaks then.
type broken struct {
	sequencer.Ledger
	off *atomic.Bool
	why error
}

func (b broken) Head(ctx context.Context) (head, final uint64, err error) {
	if b.off.Load() {
		return 0, 0, b.why
	}
	return b.Ledger.Head(ctx)
}

func (b broken) Follow(ctx context.Context, after uint64, step func(any)) error {
	if b.off.Load() {
		return b.why
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return b.Ledger.Follow(ctx, after, func(in any) {
		if b.off.Load() {
			cancel()
			return
		}
		step(in)
	})
}

// many is a node with contracts of one chain.
type many struct {
	node *sequencer.Node
	log  *lines
	off  *atomic.Bool

	chains []*sequencertest.Chain
	ctx    context.Context //nolint:containedctx // of the test
}

func newMany(t *testing.T, count int, why func(i int) error) *many {
	t.Helper()
	return newManyThatSleep(t, count, time.Minute, why)
}

func newManyThatSleep(t *testing.T, count int, after time.Duration, why func(i int) error) *many {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	m := &many{log: &lines{}, off: new(atomic.Bool), ctx: ctx, chains: make([]*sequencertest.Chain, count)}
	m.off.Store(true)
	self, other := account("member-1"), account("member-2")
	cfg := sequencer.Config{
		Self: self, Keys: key("member-1"), Peers: map[ledger.Account]string{other: "member-2"}, Store: sequencertest.NewMemory(), Secret: [32]byte{1},
		Tick: 5 * time.Millisecond, SleepAfter: after, Log: slog.New(slog.NewTextHandler(m.log, nil)), Transport: memory.New(1).Join("member-1"),
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	for i := range count {
		declared := ledger.Contract{
			Chain: 1337, Address: fmt.Sprint("contract ", i), Members: []ledger.Account{self, other}, Committee: []ledger.Account{self}, Needed: 1, Range: 1000, Depth: 2, Life: 50, Domain: "notes/1",
		}
		chain := sequencertest.NewChain(declared, ledger.Plain{})
		running.Go(func() { chain.Run(ctx, 5*time.Millisecond) })
		m.chains[i] = chain
		cfg.Contracts = append(cfg.Contracts, sequencer.Contract{
			Declared: declared, Rules: notes.New(self), Scheme: ledger.Plain{}, NudgeAfter: 20 * time.Millisecond, Ledger: broken{chain, m.off, why(i)},
		})
	}
	var err error
	if m.node, err = sequencer.New(cfg); err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = m.node.Run(ctx) })
	return m
}

// A chain that is away is one line of the log, however many contracts it has, and one when it is back. What a contract shows
// meanwhile is why nothing is known of it; what a user asks for is refused, and not done later.
func TestADeadChainIsOneLine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const count = 300
		m := newMany(t, count, func(int) error { return errors.New("connection refused") })
		const waits, back = "the contracts of a chain wait for it", "a chain is back"
		until(m.ctx, t, "the outage is told", func() bool { return len(m.log.with(waits, "chain=1337", "contracts=", "connection refused")) > 0 })
		for i := range count {
			until(m.ctx, t, "each contract shows why it is not read", func() bool {
				s, err := m.node.Look(m.ctx, fmt.Sprint("contract ", i))
				return err == nil && s.Final == 0 && strings.Contains(s.Unread, "connection refused")
			})
		}
		if told := m.log.with(""); len(told) != 1 {
			t.Errorf("the outage of a chain with %d contracts is told as %q", count, told)
		}
		var unread *sequencer.UnreadError
		for what, do := range map[string]func(ctx context.Context) error{
			"Submit": func(ctx context.Context) error {
				_, err := m.node.Submit(ctx, "contract 0", "k0", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0)
				return err
			},
			"Cancel": func(ctx context.Context) error { return m.node.Cancel(ctx, "contract 0", ledger.Sequence{}) },
			"Status": func(ctx context.Context) error {
				_, err := m.node.Status(ctx, "contract 0")
				return err
			},
		} {
			short, cancel := context.WithTimeout(m.ctx, 50*time.Millisecond)
			err := do(short)
			cancel()
			if !errors.As(err, &unread) || !strings.Contains(unread.Why, "connection refused") || unread.Contract != "contract 0" {
				t.Errorf("%s: %v, want an UnreadError that says why", what, err)
			}
		}
		m.off.Store(false)
		until(m.ctx, t, "its end is told", func() bool { return len(m.log.with(back)) > 0 })
		if told := m.log.with(back, "chain=1337", fmt.Sprint("contracts=", count)); len(told) != 1 || len(m.log.with("contract")) != 2 {
			t.Errorf("the end of the outage is told as %q, want one line, and one before it", m.log.with(""))
		}
		for _, amount := range []int{6, 7} { // two, so that a block is final
			if _, err := m.node.Submit(m.ctx, "contract 0", fmt.Sprint("k", amount-6), fmt.Appendf(nil, `{"issue": {"to": "office", "amount": %d}}`, amount), 0); err != nil {
				t.Errorf("after it was refused: %v", err)
			}
		}
		if got := m.node.Outages(); got["chain"] != 1 || got["other"] != 0 || got["deep"] != 0 {
			t.Errorf("the outages are counted as %v, want one of a chain", got)
		}
		until(m.ctx, t, "it is read", func() bool {
			s, err := m.node.Status(m.ctx, "contract 0")
			return err == nil && s.Unread == "" && s.Final > 0
		})
	})
}

// A contract that is another one on its chain is named, a chain that went back below a final block is told as such, and
// neither hides the other or an outage of the chain. Each is counted.
func TestAnotherContractIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMany(t, 4, func(i int) error {
			switch i {
			case 1:
				return fmt.Errorf("%w: range_size is 60 there and 50 here", ledger.ErrOther)
			case 3:
				return fmt.Errorf("%w: to block 5, and block 7 was final", ledger.ErrDeep)
			}
			return errors.New("connection refused")
		})
		until(m.ctx, t, "all are told", func() bool {
			return len(m.log.with("a contract on its chain is another one", `contract="contract 1"`, "range_size is 60")) == 1 &&
				len(m.log.with("the contracts of a chain wait for it", "contracts=2", "connection refused")) == 1 &&
				len(m.log.with("WENT BACK BELOW A FINAL BLOCK", "chain=1337", "contracts=1", "block 7 was final")) == 1
		})
		if got := m.node.Outages(); got["chain"] != 1 || got["other"] != 1 || got["deep"] != 1 {
			t.Errorf("the outages are counted as %v, want one of each", got)
		}
		m.off.Store(false)
		until(m.ctx, t, "the ends are told", func() bool {
			return len(m.log.with("a chain is back", "contracts=2")) == 1 && len(m.log.with("is the declared one now", `contract="contract 1"`)) == 1
		})
	})
}

// A chain that goes away while contracts are followed is told too.
func TestAChainThatGoesAway(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMany(t, 2, func(int) error { return errors.New("connection refused") })
		m.off.Store(false)
		for i := range 2 {
			s, err := m.node.Submit(m.ctx, fmt.Sprint("contract ", i), "funds", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0)
			if err != nil || s.Counter == 0 {
				t.Fatal(err)
			}
		}
		m.off.Store(true)
		until(m.ctx, t, "the outage is told", func() bool {
			return len(m.log.with("the contracts of a chain wait for it", "what=\"the ledger cannot be followed\"")) > 0
		})
		m.off.Store(false)
		until(m.ctx, t, "its end is told", func() bool { return len(m.log.with("a chain is back")) == 1 })
	})
}

// A contract that falls asleep while its chain is away waits no more; that is not taken for the end of the outage.
func TestAChainIsNotBackSinceNobodyAsks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newManyThatSleep(t, 1, 1500*time.Millisecond, func(int) error { return errors.New("connection refused") })
		m.off.Store(false)
		if _, err := m.node.Status(m.ctx, "contract 0"); err != nil {
			t.Fatal(err)
		}
		m.off.Store(true)
		_ = m.chains[0].Nudge(m.ctx) // it is always taken; the block ends what follows the chain
		until(m.ctx, t, "the outage is told", func() bool { return len(m.log.with("the contracts of a chain wait for it")) > 0 })
		until(m.ctx, t, "it sleeps", func() bool { return m.node.Awake() == 0 })
		m.off.Store(false)
		until(m.ctx, t, "it waits no more", func() bool { return m.node.Waiting() == 0 })
		if told := m.log.with("a chain is back"); len(told) > 0 {
			t.Errorf("the log says %q", told)
		}
	})
}

// What finds no room while a contract cannot be read is refused at once, and is not done.
func TestTooMuchWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newMany(t, 1, func(int) error { return errors.New("connection refused") })
		ctx, cancel := context.WithCancel(m.ctx)
		var asking sync.WaitGroup
		defer asking.Wait()
		defer cancel()
		for range 10_000 {
			asking.Go(func() { _, _ = m.node.Status(ctx, "contract 0") })
		}
		until(m.ctx, t, "a user is told that too much waits", func() bool {
			short, stop := context.WithTimeout(m.ctx, 20*time.Millisecond)
			defer stop()
			_, err := m.node.Submit(short, "contract 0", "k", []byte(`{"issue": {"to": "office", "amount": 5}}`), 0)
			return errors.Is(err, sequencer.ErrBusy)
		})
		if err := m.node.Cancel(m.ctx, "contract 0", ledger.Sequence{}); !errors.Is(err, sequencer.ErrBusy) {
			t.Errorf("a cancellation: %v, want ErrBusy", err)
		}
	})
}
