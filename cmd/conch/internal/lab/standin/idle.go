package standin

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

// Rest is what many contracts cost a node.
type Rest struct {
	BytesIdle   float64 // for each idle contract, while the others are busy: heap and stacks, without its declaration
	BytesAsleep float64 // likewise, when the others sleep too
	Messages    int     // about contracts in which nothing has happened
	Others      int     // about those in which something has
}

// Idle starts a node with many contracts, has it bring an intent through in each of the first ones, and waits until they
// sleep. Each has a member besides, who is away: contracts need one endorsement.
func Idle(ctx context.Context, s Scheme, many, busy int) (r Rest, err error) {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	self, other := s.Key("node"), s.Key("other")
	counted := &tally{Endpoint: memory.New(1).Join("node"), of: map[string]int{}}
	set := sequencer.Config{
		Self: self.Account, Keys: self, Peers: map[ledger.Account]string{other.Account: "other"}, Transport: counted,
		Store: sequencertest.NewMemory(), Secret: sha256.Sum256([]byte("node")), SleepAfter: 2 * time.Second, ShareFor: time.Millisecond, // nobody is there to keep contents
	}
	members := []ledger.Account{self.Account, other.Account}
	for i := range many {
		declared := ledger.Contract{
			Chain: 1, Address: fmt.Sprint(Address, " ", i), Members: members, Committee: members[:1], Needed: 1, Range: 1_000_000,
			Depth: 1, Life: 1000, Domain: notes.Name,
		}
		chain := newLedger(declared, s)
		if i < busy {
			running.Go(func() { chain.run(ctx, blockTime) })
		}
		set.Contracts = append(set.Contracts, sequencer.Contract{Declared: declared, Rules: notes.New(self.Account), Scheme: s, Ledger: chain})
	}
	before := inUse()
	node, err := sequencer.New(set)
	if err != nil {
		return r, err
	}
	running.Go(func() { _ = node.Run(ctx) }) // it ends with the context
	err = each(ctx, busy, func(ctx context.Context, i int) error {
		contract := set.Contracts[i].Declared.Address
		if _, err := node.Submit(ctx, contract, "funds", []byte(`{"issue":{"to":"till","amount":1}}`), 0); err != nil {
			return err
		}
		_, err := node.Wait(ctx, contract, "funds")
		return err
	})
	if err != nil {
		return r, err
	}
	r.BytesIdle = float64(inUse()-before) / float64(many)
	for look := time.NewTicker(10 * time.Millisecond); node.Awake() > 0; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return r, fmt.Errorf("waiting until the contracts sleep: %w", context.Cause(ctx))
		}
	}
	r.BytesAsleep = float64(inUse()-before) / float64(many)
	r.Messages, r.Others = counted.split(busy)
	runtime.KeepAlive(set)
	return r, nil
}

// inUse returns the bytes of the heap and of stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// tally counts what is sent about each contract.
type tally struct {
	transport.Endpoint

	mu sync.Mutex
	of map[string]int
}

// Open implements transport.Endpoint.
func (y *tally) Open(subject string) (transport.Line, error) {
	l, err := y.Endpoint.Open(subject)
	return talliedLine{l, y}, err
}

// split returns what was sent about all contracts but the first ones, and about those.
func (y *tally) split(busy int) (messages, others int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, n := range y.of {
		messages += n
	}
	for i := range busy {
		others += y.of[fmt.Sprint(Address, " ", i)]
	}
	return messages - others, others
}

type talliedLine struct {
	transport.Line
	of *tally
}

// Send implements transport.Line.
func (l talliedLine) Send(to string, body []byte) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	_, contracts := sequencertest.Look(body)
	for _, contract := range contracts {
		l.of.of[contract]++
	}
	return l.Line.Send(to, body)
}
