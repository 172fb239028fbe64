package sequencer_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/memory"
)

// I9: a node has 10,000 contracts, and something happens in 20 of them. The others cost less than 2 KB each and send
// nothing; when the 20 fall asleep they cost no more. The test has the machine's memory for itself: it is not parallel.
func TestIdleContractsCostLittle(t *testing.T) { //nolint:paralleltest // it measures memory
	if testing.Short() {
		t.Skip("ten thousand contracts cost three seconds")
	}
	const many, busy = 10_000, 20
	self, other := account("self"), account("other")
	set := sequencer.Config{
		Self: self, Keys: key("self"), Peers: map[ledger.Account]string{other: "other"}, Store: sequencertest.NewMemory(),
		Secret: sha256.Sum256([]byte("self")), Tick: 10 * time.Millisecond, SleepAfter: 20 * time.Millisecond, ShareFor: time.Millisecond,
	}
	members := []ledger.Account{self, other}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for i := range many {
		declared := ledger.Contract{
			Chain: 1, Address: fmt.Sprint("contract ", i), Members: members, Committee: members, Needed: 1, Range: 1000, Depth: 2, Life: 50,
			Domain: "notes/1",
		}
		chain := sequencertest.NewChain(declared, ledger.Plain{})
		if i < busy {
			running.Go(func() { chain.Run(ctx, 5*time.Millisecond) })
		}
		set.Contracts = append(set.Contracts, sequencer.Contract{
			Declared: declared, Rules: notes.New(self), Scheme: ledger.Plain{}, Ledger: chain, NudgeAfter: 20 * time.Millisecond,
		})
	}
	counted := &tally{Endpoint: memory.New(1).Join("self"), sent: map[string]int{}}
	set.Transport = counted
	before := heap()
	node, err := sequencer.New(set)
	if err != nil {
		t.Fatal(err)
	}
	running.Go(func() { _ = node.Run(ctx) })
	for i := range busy {
		if _, err := node.Submit(ctx, fmt.Sprint("contract ", i), "funds", []byte(`{"issue":{"to":"office","amount":5}}`), 0); err != nil {
			t.Fatal(err)
		}
	}
	for i := range busy {
		if r, err := node.Wait(ctx, fmt.Sprint("contract ", i), "funds"); err != nil || !r.Confirmed {
			t.Fatalf("it ends as %+v, %v", r, err)
		}
	}
	for node.Awake() > 0 && ctx.Err() == nil {
		runtime.Gosched()
	}
	if each := (heap() - before) / many; each >= 2048 {
		t.Errorf("an idle contract costs %d bytes, want less than 2,048", each)
	} else {
		t.Logf("an idle contract costs %d bytes", each)
	}
	if all, n := counted.quiet(0), counted.quiet(busy); all == 0 || n > 0 {
		t.Errorf("of %d messages %d are about contracts in which nothing happens, want some and none", all, n)
	}
	runtime.KeepAlive(set)
}

// heap returns what is in use, stacks included.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// tally counts what is sent about each contract.
type tally struct {
	transport.Endpoint

	mu   sync.Mutex
	sent map[string]int
}

func (y *tally) Open(subject string) (transport.Line, error) {
	line, err := y.Endpoint.Open(subject)
	return talliedLine{line, y}, err
}

// quiet returns how many messages there were about all contracts but the first ones.
func (y *tally) quiet(busy int) (n int) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, sent := range y.sent {
		n += sent
	}
	for i := range busy {
		n -= y.sent[fmt.Sprint("contract ", i)]
	}
	return n
}

type talliedLine struct {
	transport.Line
	of *tally
}

func (l talliedLine) Send(to string, body []byte) error {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if msg, err := wire.Decode(body[1:]); err == nil && body[0] == 0 {
		l.of.sent[msg.Contract]++
	}
	if beat, err := wire.DecodeBeat(body[1:]); err == nil && body[0] == 1 {
		for _, p := range beat.Contracts {
			l.of.sent[p.Contract]++
		}
	}
	return l.Line.Send(to, body)
}
