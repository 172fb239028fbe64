package election_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/runtest"
)

// TestChaos runs three electors with two scopes and one mint under Strict through faults: slow and
// lost calls, cut sessions, a restarted database, processes that stop, drain and restart, clocks of
// different speed, transactions that stay behind the fence. Never are two act doors of one scope
// used or open, fenced commits come in the order of their epochs, and in the end each scope is led
// (S4, S9, S11, S12, F4).
func TestChaos(t *testing.T) {
	t.Parallel()
	all := seeds()
	const workers = 2
	for w := range workers {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			for i := w; i < len(all); i += workers {
				synctest.Test(t, func(t *testing.T) { newChaos(t, all[i]).run() })
				if t.Failed() {
					t.Fatalf("replay: go test ./election -race -run '^TestChaos$' -seed %d", all[i])
				}
			}
		})
	}
}

var seed = flag.Uint64("seed", 0, "run TestChaos with this one seed")

// seeds returns those that TestChaos runs: the one of -seed, or the first ones.
func seeds() []uint64 {
	n := 80
	switch {
	case *seed != 0:
		return []uint64{*seed}
	case runtest.Nightly():
		n = 20_000
	case runtest.Whole():
		n = 250
	case testing.Short():
		n = 40
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all
}

type chaos struct {
	*testing.T
	mint  *electiontest.Memory
	epoch time.Time // when the bubble began
	calm  time.Time // when the faults end
	nodes []*node

	mu    sync.Mutex
	dice  *rand.Rand
	acts  map[string]string // by scope, the ID of the elector that acts
	count map[string]int
}

// node is one process: an elector on a machine with its own clock.
type node struct {
	*chaos
	name    string
	serial  int
	elector *election.Elector
	stop    func() error

	lease time.Duration
	rate  float64       // how fast its clock runs
	thaw  chan struct{} // not nil: the process is stopped or suspended until it is closed
}

var chaosScopes = []string{"s", "t"}

func newChaos(t *testing.T, seed uint64) *chaos {
	c := &chaos{
		T: t, mint: electiontest.NewMemory(), epoch: time.Now(), dice: rand.New(rand.NewPCG(seed, 1)),
		acts: map[string]string{}, count: map[string]int{},
	}
	c.calm = c.epoch.Add(5 * time.Second)
	c.mint.Fault = c.fault
	leases := []time.Duration{1500 * time.Millisecond, time.Second, 700 * time.Millisecond}
	c.dice.Shuffle(3, func(i, j int) { leases[i], leases[j] = leases[j], leases[i] })
	for i := range 3 {
		n := &node{chaos: c, name: string(rune('a' + i)), rate: 0.98 + 0.02*float64(i), lease: leases[i]}
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *chaos) roll(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dice.IntN(n)
}

// upTo returns a random duration; its odd nanoseconds keep events from sharing an instant.
func (c *chaos) upTo(d time.Duration) time.Duration { return time.Duration(c.roll(int(d))) + 1 }

func (c *chaos) fault(string) (f electiontest.Fault) {
	f.Before, f.After = c.upTo(2*time.Millisecond), c.upTo(2*time.Millisecond)
	if time.Now().After(c.calm) {
		return f
	}
	switch c.roll(40) {
	case 0:
		f.Before = c.upTo(1500 * time.Millisecond)
	case 1:
		f.After = c.upTo(1500 * time.Millisecond)
	case 2:
		f.Err = electiontest.ErrInjected
	case 3:
		f.Cut = true
	}
	return f
}

func (c *chaos) run() {
	for _, n := range c.nodes {
		n.begin()
	}
	for time.Now().Before(c.calm) {
		pass(c.upTo(400 * time.Millisecond))
		c.mischief(c.nodes[c.roll(len(c.nodes))])
		c.look()
	}
	for _, n := range c.nodes {
		n.resume()
	}
	pass(6 * time.Second)
	c.look()
	for _, scope := range chaosScopes {
		if !slices.ContainsFunc(c.nodes, func(n *node) bool { return n.elector.Gate(scope).IsOpen(fence.Act) }) {
			c.Errorf("6s after the last fault nobody leads %s, the mint has %s", scope, c.mint.Token(scope))
		}
	}
	for _, n := range c.nodes {
		_ = n.stop()
	}
	pass(2 * time.Second) // the last stragglers
	c.verdict()
}

// mischief does something to a node or to the mint.
func (c *chaos) mischief(n *node) {
	switch c.roll(11) {
	case 0, 1:
		c.kill()
	case 2:
		if c.roll(4) == 0 {
			c.mint.With(func(_ time.Duration, s *store.Store) { s.Restart() })
		}
	case 3, 4:
		n.freeze()
		go func(d time.Duration) { pass(d); n.resume() }(c.upTo(2500 * time.Millisecond))
	case 5, 6:
		go func(e *election.Elector, scope string) { _ = e.Drain(context.Background(), scope) }(n.elector, chaosScopes[c.roll(2)])
	case 7:
		to := c.nodes[c.roll(3)].elector.ID()
		go func(e *election.Elector, scope string) { _ = e.Transfer(context.Background(), scope, to) }(n.elector, chaosScopes[c.roll(2)])
	case 8:
		n.resume()
		_ = n.stop()
		n.begin()
	}
}

// kill ends up to three sessions in quick succession, since a successor that dies before its hold
// is over is the hardest case.
func (c *chaos) kill() {
	for range 1 + c.roll(3) {
		nth := c.roll(3)
		c.mint.With(func(_ time.Duration, s *store.Store) {
			for id := int64(1); id < 2000; id++ {
				if s.Alive(id) {
					if nth == 0 {
						s.End(id)
						return
					}
					nth--
				}
			}
		})
		pass(c.upTo(20 * time.Millisecond))
	}
}

func (n *node) begin() {
	n.serial++
	var roles []election.Role
	for _, scope := range chaosScopes {
		roles = append(roles, election.Role{
			Scope: scope, Lead: n.lead, Fenced: n.fenced, StallAfter: time.Duration(n.roll(2)) * 700 * time.Millisecond,
		})
	}
	e, err := election.New(election.Config{
		Mint: n.mint, ID: fmt.Sprintf("%s%d", n.name, n.serial), Roles: roles, Clock: n.now, Lease: n.lease,
		DrainTimeout: 500 * time.Millisecond, Logger: slog.New(slog.DiscardHandler), Seed: uint64(1 + n.roll(1<<30)),
	})
	if err != nil {
		n.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- e.Run(ctx) }()
	n.elector, n.stop = e, func() error { cancel(); return <-over }
}

// now is the node's clock. A stopped process reads no clock.
func (n *node) now() fence.Instant {
	for {
		n.mu.Lock()
		thaw := n.thaw
		at := fence.Instant(n.rate*float64(time.Since(n.epoch))) + 1
		n.mu.Unlock()
		if thaw == nil {
			return at
		}
		<-thaw
	}
}

func (n *node) freeze() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.thaw == nil {
		n.thaw = make(chan struct{})
	}
}

func (n *node) resume() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.thaw != nil {
		close(n.thaw)
		n.thaw = nil
	}
}

// lead acts repeatedly until its context ends. Now and then it ends late, stalls or resigns.
func (n *node) lead(ctx context.Context, l election.Leadership) error {
	scope := l.Token.Scope
	for ctx.Err() == nil {
		most := n.upTo(100 * time.Millisecond)
		length := n.upTo(120 * time.Millisecond) // some acts want more than their maximum
		_ = l.Gate.Do(ctx, fence.Act, most, func(ctx context.Context, t fence.Token) error {
			n.enter(scope, n.elector.ID())
			defer n.leave(scope)
			wait(ctx, length)
			return nil
		})
		switch l.Progress(); {
		case n.roll(200) > 0 || time.Now().After(n.calm):
		case n.roll(2) == 0:
			return nil
		default:
			wait(ctx, time.Second)
		}
		wait(ctx, n.between(60*time.Millisecond))
	}
	if n.roll(8) == 0 && time.Now().Before(n.calm) {
		pass(n.upTo(time.Second)) // perhaps longer than a drain waits
	}
	return nil
}

// fenced commits through the fence, whatever its clock says.
func (n *node) fenced(ctx context.Context, l election.Leadership) error {
	for ctx.Err() == nil {
		l.Progress()
		var id int64
		var err error
		n.mint.With(func(now time.Duration, s *store.Store) {
			s.Expire(now)
			id, err = s.Fence(now, l.Token)
		})
		if err == nil {
			limit := 20 * time.Millisecond
			if n.roll(40) == 0 && time.Now().Before(n.calm) {
				limit = 2 * time.Second // stuck behind the fence
			}
			pass(n.upTo(limit))
			n.mint.With(func(now time.Duration, s *store.Store) {
				s.Expire(now)
				s.CommitFenced(id)
			})
			n.mu.Lock()
			n.count["fenced"]++
			n.mu.Unlock()
		}
		wait(ctx, n.between(100*time.Millisecond))
	}
	return nil
}

// between returns the pause between two acts, longer once there are no faults.
func (n *node) between(most time.Duration) time.Duration {
	if time.Now().After(n.calm) {
		most = 500 * time.Millisecond
	}
	return n.upTo(most)
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

func (c *chaos) enter(scope, who string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.acts[scope]; other != "" {
		c.Errorf("%s: %s acts in %s while %s acts", time.Since(c.epoch), who, scope, other)
	}
	c.acts[scope] = who
	c.count["acts"]++
}

func (c *chaos) leave(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts[scope] = ""
}

// look reports two act doors that are open at once. It skips stopped processes, which find their
// doors shut when they read the clock.
func (c *chaos) look() {
	for _, scope := range chaosScopes {
		var open []string
		for _, n := range c.nodes {
			c.mu.Lock()
			stopped := n.thaw != nil
			c.mu.Unlock()
			if !stopped && n.elector.Gate(scope).IsOpen(fence.Act) {
				open = append(open, n.elector.ID())
			}
		}
		if len(open) > 1 {
			c.Errorf("%s: the act door of %s is open at %s", time.Since(c.epoch), scope, strings.Join(open, " and "))
		}
	}
}

// verdict checks the mint's records.
func (c *chaos) verdict() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mint.With(func(_ time.Duration, s *store.Store) {
		last := map[string]int64{}
		for _, l := range s.Ledger {
			if l.Epoch < last[l.Scope] {
				c.Errorf("%s: a commit with epoch %d came after one with epoch %d", l.Scope, l.Epoch, last[l.Scope])
			}
			last[l.Scope] = l.Epoch
		}
		minted := map[string]int64{}
		for _, e := range s.History {
			if e.Event != "acquired" {
				continue
			}
			if e.Epoch != minted[e.Scope]+1 {
				c.Errorf("%s: epoch %d was minted after epoch %d", e.Scope, e.Epoch, minted[e.Scope])
			}
			minted[e.Scope] = e.Epoch
			c.count["terms"]++
		}
	})
	if c.count["acts"] == 0 || c.count["fenced"] == 0 || c.count["terms"] < 2 {
		c.Errorf("want acts, fenced commits and two terms, got %v", c.count)
	}
}
